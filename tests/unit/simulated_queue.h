// An IoQueue for tests: transfers complete in random order, and may be tampered with; and faults.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

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

// For SortOptions::queue_factory and IoService: simulated queues, all with the same `transfer`.
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

}  // namespace xxl::test
