#include "base/chores.h"

#include "base/error.h"

namespace xxl {
namespace {

thread_local Chores* first_of_thread = nullptr;
thread_local bool is_at_work = false;

}  // namespace

Chores::Chores() : next_(first_of_thread) {
  first_of_thread = this;
}

Chores::~Chores() {
  Chores** link = &first_of_thread;
  while (*link != this) {
    XXL_CHECK(*link != nullptr);  // another thread's
    link = &(*link)->next_;
  }
  *link = next_;
}

bool Chores::has_any() {
  return first_of_thread != nullptr && !is_at_work;
}

bool Chores::do_one_of_any() {
  is_at_work = true;
  bool done = false;
  for (Chores* chores = first_of_thread; chores != nullptr && !done; chores = chores->next_) {
    done = chores->do_one();
  }
  is_at_work = false;
  return done;
}

}  // namespace xxl
