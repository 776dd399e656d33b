// The processes of a sort on several machines, as each of them sees the others: the seam to MPI
// (mpi/mpi_peers.h), which tests replace by threads.
//
// Each process is a *rank*, from 0. All of them take the same steps: what is exchanged is a step of
// all, and blocks are fetched by one while the others do something else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace xxl {

using Message = std::vector<std::byte>;

// Names a block of a rank's runs.
struct BlockName {
  std::uint32_t run = 0;
  std::uint32_t block = 0;
};

// Gives its blocks to other ranks.
class BlockServer {
 public:
  // Called once when the block has been read, from any thread; must be short and must not throw.
  // What is given is of the server's memory until give_back().
  using Ready = std::function<void(std::span<std::byte> block, std::exception_ptr failure)>;

  virtual ~BlockServer() = default;
  // Reads the block as it is stored. False if there is no memory for it now: to be asked again when
  // a block has been given back.
  virtual bool read(BlockName name, Ready ready) = 0;
  virtual void give_back(std::span<std::byte> block) = 0;
};

class Peers {
 public:
  // Called once, on another thread: with null, or with the failure. Must be short and must not
  // throw.
  using Done = std::function<void(std::exception_ptr failure)>;

  virtual ~Peers() = default;

  virtual unsigned rank() const = 0;
  virtual unsigned ranks() const = 0;

  // That rank is on this machine, as far as is known.
  virtual bool is_local(unsigned rank) const = 0;

  // A step of all ranks: gives message i to rank i, and returns what they gave to this one, by
  // rank. One thread at a time.
  virtual std::vector<Message> exchange(std::vector<Message> messages) = 0;

  // From now on other ranks can fetch from `server`; null: from now on they do not. It must outlive
  // its serving.
  virtual void serve(BlockServer* server) = 0;

  // This rank has failed, for what `message` says: all ranks end. Returns only if they cannot be
  // made to.
  virtual void fail(const std::string& message) = 0;

  // Gets a block of another rank, `block.size()` bytes of it. From any thread.
  virtual void fetch(unsigned rank, BlockName name, std::span<std::byte> block, Done done) = 0;
};

// Does `work` of this rank. If it fails, the others are told before what is under way is waited
// for, so it must be kept elsewhere.
template <class Work>
auto work_of_rank(Peers& peers, Work&& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    peers.fail(error.what());
    throw;
  }
}

}  // namespace xxl
