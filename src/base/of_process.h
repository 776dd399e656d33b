// Objects that have threads, or transfers under way, and a program that calls fork().
//
// The child has copies of such objects, and none of their threads. Destroying one there would wait
// for ever, or remove a file that the parent still writes. So a child leaves it as it is.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <memory>

namespace xxl {

// The base of such objects.
class OfProcess {
 public:
  bool is_of_this_process() const { return process_ == ::getpid(); }

 protected:
  // Its threads start now: they are of this process.
  void begin_in_this_process() { process_ = ::getpid(); }

 private:
  pid_t process_ = ::getpid();  // that made it
};

// Called before `object` is destroyed: in a child there is nothing to destroy after it.
template <class Object>
void leave_to_parent(std::unique_ptr<Object>& object) noexcept {
  if (object != nullptr && !object->is_of_this_process()) (void)object.release();
}

}  // namespace xxl
