// The scratch of a general sort, opened when first needed: small sorts need none.
#pragma once

#include <memory>
#include <mutex>

#include "base/monitor.h"
#include "io/io_queue.h"
#include "io/scratch_store.h"
#include "job/general_sort/general_memory.h"
#include "job/general_sort/general_sort_options.h"
#include "run/general_scratch.h"

namespace xxl {

class LazyScratch {
 public:
  // The references must outlive it.
  LazyScratch(const GeneralSortOptions& options, const GeneralMemory& memory, io::IoService& io,
              Monitor& monitor)
      : options_(options), memory_(memory), io_(io), monitor_(monitor) {}

  // Opens it, and reserves the space that will be needed, if it is not open. From any thread.
  // Throws Error.
  GeneralScratch& get();
  // The same for a merge of inputs that may have to be sorted after all.
  void reserve() {
    get();
    reserve_for_sort();
  }
  // Null if it is not open. Only while no other thread may open it.
  GeneralScratch* opened() { return scratch_.get(); }
  const io::ScratchStore* store() const { return store_.get(); }
  // After the last block has been written: see ScratchStore. Returns it; null if it is not open.
  io::ScratchStore* give_back_released() {
    if (store_) store_->give_back_released();
    return store_.get();
  }

 private:
  void reserve_for_sort();

  const GeneralSortOptions& options_;
  const GeneralMemory& memory_;
  io::IoService& io_;
  Monitor& monitor_;
  std::mutex mutex_;
  std::unique_ptr<io::ScratchStore> store_;
  std::unique_ptr<GeneralScratch> scratch_;
};

}  // namespace xxl
