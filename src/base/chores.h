// Tasks that a thread does itself, for lack of other threads, where it would otherwise sleep.
//
// A sort's coordinator hands tasks to workers and waits for what they post. Where the system gives
// no thread, or where making one would take longer than the work, the tasks stay with the
// coordinator. They cannot run at once, inside the call that hands them over, since callers hold
// locks and inconsistent state; but wherever the coordinator waits, for a message, a change or an
// end, they can run.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace xxl {

class Chores {
 public:
  // Makes this a source of chores of the calling thread, which must also destroy it.
  Chores();
  virtual ~Chores();
  Chores(const Chores&) = delete;
  Chores& operator=(const Chores&) = delete;

  // Waits until `ready()`, called with the lock held, as changed.wait() does; meanwhile does the
  // chores of the calling thread, if it has any.
  template <class Ready>
  static void wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                   Ready ready) {
    while (!ready()) wait_for_change(changed, lock, ready);
  }
  // Waits for one change, or does a chore.
  static void wait_for_change(std::condition_variable& changed,
                              std::unique_lock<std::mutex>& lock) {
    wait_for_change(changed, lock, [] { return false; });
  }

 protected:
  // Does the chore that has waited longest; false if there is none. Must not throw.
  virtual bool do_one() = 0;

 private:
  // Another thread (of a disk) may add a chore without knowing where this one sleeps.
  static constexpr std::chrono::milliseconds kLongestSleep{10};

  template <class Ready>
  static void wait_for_change(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                              Ready ready) {
    if (!has_any()) return changed.wait(lock);
    lock.unlock();
    const bool done = do_one_of_any();
    lock.lock();
    if (!done && !ready()) changed.wait_for(lock, kLongestSleep);
  }
  // False also while one is being done: a chore may wait for those before it, which are done, but
  // later ones may wait for it.
  static bool has_any();
  static bool do_one_of_any();

  Chores* next_;
};

}  // namespace xxl
