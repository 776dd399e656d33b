#include "job/general_sort/lazy_scratch.h"

#include <utility>

#include "run/block_packer.h"

namespace xxl {

GeneralScratch& LazyScratch::get() {
  std::lock_guard lock(mutex_);
  if (scratch_ != nullptr) return *scratch_;
  const GeneralGeometry& geometry = memory_.geometry();
  store_ = std::make_unique<io::ScratchStore>(options_.scratch_dirs, geometry.slot_bytes, 1);
  if (options_.progress != nullptr) store_->count_in(&options_.progress->scratch_bytes);
  BlockPacker packer;
  if (!options_.compress_program.empty()) {
    packer = BlockPacker(options_.compress_program, options_.on_no_compress_program);
  } else if (options_.scratch_codec != Codec::none) {
    packer =
        BlockPacker(options_.scratch_codec, options_.scratch_level, geometry.packed_block_bytes);
  }
  scratch_ = std::make_unique<GeneralScratch>(*store_, io_, monitor_, std::move(packer));
  if (!options_.merge_only) reserve_for_sort();
  return *scratch_;
}

// The size of packed blocks, or of the records that may be among the first of --limit, is not known
// beforehand. What is shared with others does not stay in memory.
void LazyScratch::reserve_for_sort() {
  if (!memory_.input().size_known || scratch_->packs() || options_.needed_of_run()) return;
  store_->reserve(options_.shared != nullptr ? memory_.scratch_bytes_of_runs()
                                             : memory_.scratch_bytes());
}

}  // namespace xxl
