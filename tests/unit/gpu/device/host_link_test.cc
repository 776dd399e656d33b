// Copies between hosts and simulated devices, by every way.
#include "gpu/device/host_link.h"

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
  Machine(std::size_t peers, SimulatedOptions options, const std::string& failing = "none")
      : device(0, with(options, failing)) {
    options.before = [this, failing](const char* operation) {
      if (operation == std::string_view("copy")) ++passed_on;
      if (operation == failing) throw Error(ErrorCode::device, "it fails");
    };
    for (std::size_t i = 0; i < peers; ++i) {
      owned.push_back(std::make_unique<SimulatedDevice>(static_cast<int>(i) + 1, options));
      idle.push_back(owned.back().get());
    }
  }

  static SimulatedOptions with(SimulatedOptions options, const std::string& failing) {
    options.before = [failing](const char* operation) {
      if (operation == failing) throw Error(ErrorCode::device, "it fails");
    };
    return options;
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
      HostLink link(machine.device, {machine.idle, 4}, "GPU 0", mailbox, nullptr);
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
    HostLink link(machine.device, {machine.idle, 4}, "GPU 0", mailbox, nullptr);
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
    for (const std::size_t peers : {0, 1}) {
      for (const std::string failing : {"copy in", "copy", "copy out"}) {
        if (failing == "copy" && peers == 0) continue;
        const test::Watchdog watchdog;
        SimulatedOptions options{.memory_bytes = kGiB, .host_is_pinned = pinned};
        Machine machine(peers, options, failing);
        Mailbox mailbox;
        HostLink link(machine.device, {machine.idle, 4}, "GPU 0", mailbox, nullptr);
        const Bytes from = random_bytes(std::size_t{9} << 20);
        Bytes to(from.size());
        const DeviceMemory memory(machine.device, from.size());
        const auto copy_both_ways = [&] {
          bool done = false;
          link.copy_in(memory.data(), from.data(), from.size(), [&] {
            link.copy_out(to.data(), memory.data(), to.size(), [&] { done = true; });
          });
          while (!done) mailbox.wait_and_run();
        };
        EXPECT_THROW(copy_both_ways(), Error) << failing << ", " << peers << " peers";
        link.end_threads();
      }
    }
  }
}

TEST(HostLink, copies_also_where_nothing_can_be_pinned) {
  const test::Watchdog watchdog;
  SimulatedOptions options{.memory_bytes = kGiB, .host_is_pinned = false};
  std::atomic<int> refused = 0;
  options.before = [&refused](const char* operation) {
    if (operation != std::string_view("allocate shared")) return;
    ++refused;
    throw Error(ErrorCode::no_space, "no memory to pin");
  };
  SimulatedDevice device(0, options);
  Mailbox mailbox;
  HostLink link(device, {{}, 4}, "GPU 0", mailbox, nullptr);
  const Bytes from = random_bytes(std::size_t{9} << 20);
  Bytes to(from.size());
  const DeviceMemory memory(device, from.size());
  bool done = false;
  link.copy_in(memory.data(), from.data(), from.size(),
               [&] { link.copy_out(to.data(), memory.data(), to.size(), [&] { done = true; }); });
  while (!done) mailbox.wait_and_run();
  EXPECT_TRUE(from == to);
  EXPECT_GT(refused, 0);
  link.end_threads();
}

TEST(HostLink, takes_the_memory_of_idle_peers_at_once) {
  Machine machine(1, {.memory_bytes = kMiB});
  Mailbox mailbox;
  EXPECT_THROW(HostLink(machine.device, {machine.idle, 4}, "GPU 0", mailbox, nullptr), Error);
}

TEST(HostLink, shares_peers_and_processors_among_devices) {
  Machine machine(3, {.memory_bytes = kMiB});
  const CopyWays all{machine.idle, 7};
  EXPECT_EQ(share_of(all, 0, 2).idle, (std::vector<Device*>{machine.idle[0], machine.idle[2]}));
  EXPECT_EQ(share_of(all, 1, 2).idle, std::vector<Device*>{machine.idle[1]});
  EXPECT_EQ(share_of(all, 1, 2).threads, 3);
  EXPECT_EQ(share_of(all, 5, 8).threads, 1);
}

}  // namespace
}  // namespace xxl::gpu
