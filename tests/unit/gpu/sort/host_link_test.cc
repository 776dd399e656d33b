// Copies between hosts and simulated devices, by every way.
#include "gpu/sort/host_link.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/mailbox.h"
#include "base/units.h"
#include "gpu/simulated/simulated_device.h"
#include "watchdog.h"

namespace xxl::gpu {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t count) {
  std::mt19937_64 random(count);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// A device with a link, and peers that are idle.
struct Machine {
  Machine(std::size_t peers, SimulatedOptions options) : device(0, options) {
    options.before = [this](const char* operation) {
      if (operation == std::string_view("copy")) ++passed_on;
    };
    for (std::size_t i = 0; i < peers; ++i) {
      owned.push_back(std::make_unique<SimulatedDevice>(static_cast<int>(i) + 1, options));
      idle.push_back(owned.back().get());
    }
  }

  SimulatedDevice device;
  std::atomic<int> passed_on = 0;
  std::vector<std::unique_ptr<SimulatedDevice>> owned;
  std::vector<Device*> idle;
};

TEST(HostLink, copies_by_every_way) {
  for (const bool pinned : {true, false}) {
    for (const std::size_t peers : {0, 1, 3}) {
      Machine machine(peers, {.memory_bytes = kGiB, .host_is_pinned = pinned});
      Mailbox mailbox;
      HostLink link(machine.device, machine.idle, "GPU 0", mailbox, nullptr);
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4097},
                                      std::size_t{2} << 20, (std::size_t{23} << 20) + 7}) {
        const test::Watchdog watchdog;
        const Bytes from = random_bytes(bytes);
        Bytes to(bytes);
        const DeviceMemory memory(machine.device, bytes + 1);
        int done = 0;
        link.copy_in(memory.data(), from.data(), bytes, [&] { ++done; });
        while (done < 1) mailbox.wait_and_run();
        link.copy_out(to.data(), memory.data(), bytes, [&] { ++done; });
        while (done < 2) mailbox.wait_and_run();
        EXPECT_TRUE(from == to) << bytes << " bytes, " << peers << " peers";
      }
      EXPECT_EQ(machine.passed_on > 0, peers > 0);
      link.end_threads();
    }
  }
}

TEST(HostLink, copies_many_at_once) {
  const test::Watchdog watchdog;
  for (const bool pinned : {true, false}) {
    Machine machine(1, {.memory_bytes = kGiB, .host_is_pinned = pinned});
    Mailbox mailbox;
    HostLink link(machine.device, machine.idle, "GPU 0", mailbox, nullptr);
    constexpr std::size_t kCopies = 20, kBytes = std::size_t{5} << 20;
    const DeviceMemory memory(machine.device, kCopies * kBytes);
    const Bytes from = random_bytes(kCopies * kBytes);
    Bytes to(from.size());
    std::size_t out = 0;
    for (std::size_t i = 0; i < kCopies; ++i) {
      link.copy_in(memory.data() + i * kBytes, from.data() + i * kBytes, kBytes, [&, i] {
        link.copy_out(to.data() + i * kBytes, memory.data() + i * kBytes, kBytes, [&] { ++out; });
      });
    }
    while (out < kCopies) mailbox.wait_and_run();
    EXPECT_TRUE(from == to);
    link.end_threads();
  }
}

TEST(HostLink, tells_what_fails) {
  for (const bool pinned : {true, false}) {
    SimulatedOptions options{.memory_bytes = kGiB, .host_is_pinned = pinned};
    options.before = [](const char* operation) {
      if (operation == std::string_view("copy in")) throw Error(ErrorCode::device, "it fails");
    };
    Machine machine(0, options);
    Mailbox mailbox;
    HostLink link(machine.device, machine.idle, "GPU 0", mailbox, nullptr);
    const Bytes from = random_bytes(std::size_t{9} << 20);
    const DeviceMemory memory(machine.device, from.size());
    link.copy_in(memory.data(), from.data(), from.size(), [] { FAIL(); });
    EXPECT_THROW(mailbox.wait_and_run(), Error);
    link.end_threads();
  }
}

}  // namespace
}  // namespace xxl::gpu
