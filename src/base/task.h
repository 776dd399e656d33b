// Tasks of a coordinator, done by workers.
#pragma once

#include <utility>

#include "base/in_flight.h"
#include "base/mailbox.h"
#include "base/workers.h"

namespace xxl {

// Has one of `workers` call work(thread). What it throws comes out of `mailbox`; `in_flight` waits
// for its end.
template <class Work>
void run_task(Workers& workers, Mailbox& mailbox, InFlight& in_flight, Work work) {
  workers.run(
      [&mailbox, work = std::move(work), token = in_flight.begin()](unsigned thread) mutable {
        mailbox.guard([&] { work(thread); });
        token.reset();
      });
}

}  // namespace xxl
