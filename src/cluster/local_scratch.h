// The scratch of the ranks on this machine, from which each reads the blocks of the others itself:
// nothing is copied, and nobody is asked.
//
// The files have no names, but those that the kernel has for what a process has open: they are told
// to the others, and opened again. Where that cannot be done, as between containers, blocks are
// fetched as from other machines.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "cluster/peers.h"
#include "io/file.h"
#include "io/io_queue.h"
#include "io/scratch_store.h"
#include "run/run_store.h"

namespace xxl {

class LocalScratch {
 public:
  // Steps of all ranks. `own`: of this rank, with its blocks, which are complete. The references
  // must outlive it.
  LocalScratch(const io::ScratchStore& own, RunStore& own_blocks, io::IoService& io, Peers& peers);

  // Where the blocks of `rank`, this one or another, can be read; null: they must be fetched.
  BlockSource* of(unsigned rank) const { return sources_[rank]; }
  // `rank` can read the blocks of this one.
  bool is_open_to(unsigned rank) const { return is_open_to_[rank]; }
  // Of the sources, the most that one has.
  unsigned disks() const;

 private:
  // Of another rank.
  struct Opened {
    Opened(std::vector<std::vector<io::File>> opened, const RunStore& own, io::IoService& io)
        : files(std::move(opened), own.slot_bytes()), blocks(files, io, own.packer()) {}
    io::ScratchStore files;
    RunStore blocks;
  };

  std::vector<std::unique_ptr<Opened>> opened_;
  std::vector<BlockSource*> sources_;  // by rank
  std::vector<bool> is_open_to_;
};

}  // namespace xxl
