// Ranks as threads of one process, which exchange messages and blocks through memory.
#pragma once

#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cluster/peers.h"

namespace xxl::test {

class ThreadPeers final : public Peers {
 public:
  // What the ranks share.
  class World {
   public:
    World(unsigned ranks, bool one_machine)
        : one_machine_(one_machine), given_(ranks), servers_(ranks) {}
    unsigned ranks() const { return static_cast<unsigned>(given_.size()); }

   private:
    friend class ThreadPeers;

    const bool one_machine_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::vector<Message>> given_;  // by who gave them
    std::size_t here_ = 0;                     // ranks that have given
    std::size_t gone_ = 0;                     // ranks that have taken
    std::vector<BlockServer*> servers_;
    bool failed_ = false;  // a rank has: the others end
  };

  ThreadPeers(World& world, unsigned rank) : world_(world), rank_(rank) {}

  unsigned rank() const override { return rank_; }
  unsigned ranks() const override { return world_.ranks(); }

  bool is_local(unsigned rank) const override { return world_.one_machine_ || rank == rank_; }

  std::vector<Message> exchange(std::vector<Message> messages) override {
    std::unique_lock lock(world_.mutex_);
    wait(lock, [&] { return world_.gone_ == 0; });
    world_.given_[rank_] = std::move(messages);
    ++world_.here_;
    world_.changed_.notify_all();
    wait(lock, [&] { return world_.here_ == ranks(); });
    std::vector<Message> got;
    for (std::vector<Message>& given : world_.given_) got.push_back(std::move(given[rank_]));
    if (++world_.gone_ == ranks()) world_.here_ = world_.gone_ = 0;
    world_.changed_.notify_all();
    wait(lock, [&] { return world_.gone_ == 0; });
    return got;
  }

  void serve(BlockServer* server) override {
    std::lock_guard lock(world_.mutex_);
    world_.servers_[rank_] = server;
    world_.changed_.notify_all();
  }

  // (Blocks are fetched one at a time.)
  void fetch(unsigned rank, BlockName name, std::span<std::byte> block, Done done) override {
    std::unique_lock lock(world_.mutex_);
    wait(lock, [&] { return world_.servers_[rank] != nullptr; });
    BlockServer* const server = world_.servers_[rank];
    lock.unlock();
    const auto ready = [server, block, done = std::move(done)](std::span<std::byte> read,
                                                               std::exception_ptr failure) {
      if (failure == nullptr) std::memcpy(block.data(), read.data(), block.size());
      server->give_back(read);
      done(std::move(failure));
    };
    while (!server->read(name, ready)) std::this_thread::yield();
  }

  void fail(const std::string&) override {
    std::lock_guard lock(world_.mutex_);
    world_.failed_ = true;
    world_.changed_.notify_all();
  }

  // Of a rank that ends because another one has failed.
  struct Ended : std::exception {};

 private:
  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, Ready&& ready) {
    world_.changed_.wait(lock, [&] { return ready() || world_.failed_; });
    if (!ready()) throw Ended();
  }

  World& world_;
  const unsigned rank_;
};

// Runs work(peers) for each of `ranks` ranks, on one machine or on as many, and rethrows the
// failure of one that has failed.
inline void run_ranks(unsigned ranks, bool one_machine,
                      const std::function<void(Peers& peers)>& work) {
  ThreadPeers::World world(ranks, one_machine);
  std::exception_ptr failure;
  std::mutex mutex;  // of that
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadPeers peers(world, rank);
      try {
        work(peers);
      } catch (const ThreadPeers::Ended&) {
      } catch (...) {
        std::lock_guard lock(mutex);
        failure = std::current_exception();
        peers.fail("");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace xxl::test
