// Ranks of an MPI program: all that knows MPI.
//
// One thread of each rank makes all calls of MPI (MPI_THREAD_FUNNELED): it starts what others ask
// for, serves the blocks that other ranks fetch, and looks, more and more rarely while nothing
// happens, what has arrived.
//
//     a rank's threads            its MPI thread                     that of another rank
//     exchange() ---------------> all-to-all of sizes, of messages <-> the same
//     fetch() ------------------> request, with a tag -------------> BlockServer::read()
//     done() <------------------- block, with that tag <------------ give_back()
//     fail() -------------------> message to rank 0, which prints it and ends all (MPI_Abort)
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/thread.h"
#include "cluster/peers.h"

namespace xxl {

class MpiPeers final : public Peers {
 public:
  // Starts MPI, once in a process. `prefix` stands before the message of a failure.
  explicit MpiPeers(std::string prefix);
  // A step of all ranks: ends MPI.
  ~MpiPeers() override;

  unsigned rank() const override { return rank_; }
  unsigned ranks() const override { return ranks_; }
  bool is_local(unsigned rank) const override { return is_local_[rank]; }
  unsigned local_ranks() const;
  // For this rank: of those that it may run on, a share if other ranks may as well.
  unsigned processors() const;

  std::vector<Message> exchange(std::vector<Message> messages) override;
  void serve(BlockServer* server) override;
  void fetch(unsigned rank, BlockName name, std::span<std::byte> block, Done done) override;
  // The line of the first rank that fails is the only one. Does not return.
  void fail(const std::string& message) override;

 private:
  class Loop;

  struct Fetch {
    unsigned rank;
    BlockName name;
    std::span<std::byte> block;
    Done done;
  };
  struct Exchange {
    std::vector<Message> given;
    std::vector<Message> got;
    bool started = false;
    bool done = false;
  };
  // A block that was read for another rank.
  struct ReadyBlock {
    int rank;
    int tag;
    std::span<std::byte> block;
    std::exception_ptr failure;
  };

  void communicate();
  void wake();

  const std::string prefix_;
  unsigned rank_ = 0;
  unsigned ranks_ = 1;
  std::vector<bool> is_local_;
  unsigned sharing_ = 1;  // ranks that may run on some of this one's processors

  std::mutex mutex_;                    // of what follows
  std::condition_variable for_thread_;  // something is asked for
  std::condition_variable for_others_;  // something is done
  bool woken_ = false;
  bool running_ = false;
  bool ends_ = false;
  Exchange* exchange_ = nullptr;
  std::deque<Fetch> fetches_;
  std::deque<ReadyBlock> ready_;
  BlockServer* server_ = nullptr;
  std::size_t serving_ = 0;  // blocks that are being read or sent
  std::optional<std::string> failure_;
  Thread thread_;
};

}  // namespace xxl
