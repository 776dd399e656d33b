// An IoQueue for tests: transfers complete in random order, and may be tampered with; and faults.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"
#include "io/io_queue.h"
#include "io/transfer.h"

namespace xxl::test {

// Carries out a transfer, or does something else. Called on threads of queues, one at a time for
// each queue.
using TransferFunction = std::function<io::Completion(const io::Request&)>;

inline io::Completion honest_transfer(const io::Request& request) {
  return io::Transfer(request).carry_out();
}

// Serves what waits in random order, writes and reads alike, on one thread.
class SimulatedQueue final : public io::IoQueue {
 public:
  SimulatedQueue(std::uint64_t seed, TransferFunction transfer)
      : random_(seed), transfer_(std::move(transfer)), thread_([this] { serve(); }) {}

  ~SimulatedQueue() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    arrived_.notify_one();
    thread_.join();
  }

  void submit(io::Request request) noexcept override {
    {
      std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(request));
    }
    arrived_.notify_one();
  }
  void register_memory(std::span<std::byte>) override {}
  io::QueueStats stats() const override {
    io::QueueStats stats;
    stats.bytes_read = bytes_read_;
    stats.bytes_written = bytes_written_;
    return stats;
  }
  std::string name() const override { return "simulated"; }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      arrived_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::swap(waiting_[random_.below(waiting_.size())], waiting_.back());
      const io::Request request = std::move(waiting_.back());
      waiting_.pop_back();
      lock.unlock();
      const io::Completion completion = transfer_(request);
      (request.op == io::Op::read ? bytes_read_ : bytes_written_) += completion.bytes;
      request.done(completion);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<io::Request> waiting_;
  bool stopping_ = false;
  Random random_;
  TransferFunction transfer_;
  std::atomic<std::uint64_t> bytes_read_{0};
  std::atomic<std::uint64_t> bytes_written_{0};
  std::thread thread_;
};

// For FixedSortOptions::queue_factory and IoService: simulated queues, all with the same
// `transfer`.
inline io::IoService::Factory simulated_queues(std::uint64_t seed,
                                               TransferFunction transfer = honest_transfer) {
  return [seed, transfer = std::move(transfer)]() mutable -> std::unique_ptr<io::IoQueue> {
    return std::make_unique<SimulatedQueue>(seed++, transfer);
  };
}

// What is read from files called `path`, such as those of scratch in that directory, has changed.
inline io::IoService::Factory queues_with_changed_reads(std::string path) {
  return simulated_queues(7, [path = std::move(path)](const io::Request& request) {
    const io::Completion done = honest_transfer(request);
    if (request.op == io::Op::read && request.file->path() == path) {
      request.data[17] ^= std::byte{1};
    }
    return done;
  });
}

// What may befall a write of which its first bytes and its first half count, and nobody is told.
inline const std::pair<const char*, TransferFunction> kSilentFaults[] = {
    {"a bit flips",
     [](const io::Request& request) {
       request.data[11] ^= std::byte{64};
       const io::Completion completion = honest_transfer(request);
       request.data[11] ^= std::byte{64};
       return completion;
     }},
    {"nothing is written",
     [](const io::Request& request) {
       return io::Completion{0, request.data.size()};
     }},
    {"it goes elsewhere",
     [](io::Request request) {
       request.offset = request.offset == 0 ? request.data.size() : 0;
       return honest_transfer(request);
     }},
    {"one sector of it is not written",
     [](const io::Request& request) {
       io::Request rest = request;
       rest.offset += kSectorBytes;
       rest.data = request.data.subspan(kSectorBytes);
       if (!rest.data.empty()) honest_transfer(rest);
       return io::Completion{0, request.data.size()};
     }},
};

inline TransferFunction failing(int error) {
  return [error](const io::Request&) { return io::Completion{error, 0}; };
}

// A bit of this byte of what was read is another one.
inline TransferFunction changing(std::size_t byte) {
  return [byte](const io::Request& request) {
    const io::Completion completion = honest_transfer(request);
    request.data[byte] ^= std::byte{64};
    return completion;
  };
}

// A fault that strikes the n-th of the transfers of a kind.
class Fault {
 public:
  using Kind = std::function<bool(const io::Request&)>;

  Fault(Kind kind, std::uint64_t strikes_at, TransferFunction strike)
      : kind_(std::move(kind)), strikes_at_(strikes_at), strike_(std::move(strike)) {}

  io::Completion operator()(const io::Request& request) {
    if (!kind_(request) || ++seen_ != strikes_at_) return honest_transfer(request);
    struck_ = true;
    return strike_(request);
  }
  std::uint64_t seen() const { return seen_; }
  bool has_struck() const { return struck_; }

 private:
  Kind kind_;
  std::uint64_t strikes_at_;
  TransferFunction strike_;
  std::atomic<std::uint64_t> seen_{0};
  std::atomic<bool> struck_{false};
};

inline bool any_transfer(const io::Request&) {
  return true;
}

inline Fault::Kind transfers_of(std::string path, io::Op op) {
  return [path = std::move(path), op](const io::Request& r) {
    return r.op == op && r.file->path() == path;
  };
}

inline io::IoService::Factory queues_with(std::shared_ptr<Fault> fault, std::uint64_t seed) {
  return simulated_queues(seed,
                          [fault = std::move(fault)](const io::Request& r) { return (*fault)(r); });
}

// Calls run() with queues that are honest, and error_of() once for each of about `samples` of the
// transfers of `kind`, which `strike` befalls; each time the error must be one of `code`. The last
// transfers, this part of all, are left out: their number differs from run to run.
inline void expect_errors(const Fault::Kind& kind, std::size_t samples,
                          const TransferFunction& strike, ErrorCode code, std::uint64_t left_out,
                          const std::function<void(io::IoService::Factory)>& run,
                          const std::function<Error(io::IoService::Factory)>& error_of) {
  const auto honest = std::make_shared<Fault>(kind, 0, honest_transfer);
  run(queues_with(honest, 1));
  const std::uint64_t transfers = honest->seen();
  ASSERT_GT(transfers, samples);
  for (std::uint64_t sample = 0; sample < samples; ++sample) {
    const std::uint64_t number = 1 + sample * (transfers - transfers / left_out) / samples;
    SCOPED_TRACE("transfer " + std::to_string(number) + " of " + std::to_string(transfers));
    const auto fault = std::make_shared<Fault>(kind, number, strike);
    EXPECT_EQ(error_of(queues_with(fault, number)).code(), code);
    EXPECT_TRUE(fault->has_struck());
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace xxl::test
