// What simulated GPUs (gpu/simulated) ask before each operation.
#include "machine.h"

extern "C" int xxl_machine_device(const char*) {
  using namespace xxl::machine;
  constexpr std::uint64_t kLongest = 200;  // microseconds
  Machine* const m = machine();
  if (m == nullptr) return 0;
  const Inside inside;
  m->scheduler.step(Call::device);
  const Effect effect = m->effect(Role::other, Operation::device);
  if (effect.kind == Effect::error) return effect.error_number;
  m->scheduler.sleep_until(m->scheduler.now() + static_cast<Time>(m->random.below(kLongest)) +
                           m->delay(effect));
  return 0;
}
