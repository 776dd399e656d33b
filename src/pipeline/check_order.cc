// sort -c: is a file in order? Reads ahead and compares neighbours as they arrive.
#include <algorithm>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "io/sequential_reader.h"
#include "pipeline/external_sort.h"
#include "record/key_layout.h"

namespace xxl {
namespace {

constexpr std::size_t kBlockBytes = kMiB;
constexpr std::size_t kBlocks = 8;

// Compares each record with the one before it, across blocks.
class OrderChecker {
 public:
  OrderChecker(const KeyLayout& layout, bool unique) : layout_(layout), limit_(unique ? -1 : 0) {}

  // False when a record of `block` is out of order; records() is then its number.
  bool check(std::span<const std::byte> block) {
    const std::size_t record_bytes = layout_.record_bytes();
    const std::byte* previous = last_.empty() ? nullptr : last_.data();
    for (std::size_t at = 0; at < block.size(); at += record_bytes, ++records_) {
      const std::byte* record = block.data() + at;
      if (previous != nullptr && layout_.compare(previous, record) > limit_) return false;
      previous = record;
    }
    if (!block.empty())
      last_.assign(block.end() - static_cast<std::ptrdiff_t>(record_bytes), block.end());
    return true;
  }
  std::uint64_t records() const { return records_; }

 private:
  const KeyLayout& layout_;
  const int limit_;  // a comparison above it is disorder
  std::vector<std::byte> last_;
  std::uint64_t records_ = 0;
};

}  // namespace

OrderCheck check_order(const SortOptions& options) {
  const KeyLayout layout(options.format);
  const std::size_t record_bytes = layout.record_bytes();
  std::vector<io::File> files;
  files.push_back(io::File::open_input(options.inputs.empty() ? "-" : options.inputs.front()));
  const std::size_t block_bytes = round_up(std::max(kBlockBytes, record_bytes), kSectorBytes);
  MemoryRegion memory(kBlocks * io::SequentialReader::buffer_bytes(block_bytes, record_bytes));
  Mailbox mailbox;
  io::IoService io(options.backend, {});
  io::SequentialReader reader(files, record_bytes, block_bytes, memory.span(), io, mailbox);
  OrderChecker checker(layout, options.unique);
  for (;;) {
    reader.pump();
    while (const auto block = reader.next()) {
      if (!checker.check(block->records)) {
        return {false, checker.records(), checker.records() * record_bytes};
      }
      reader.release(*block);
      reader.pump();
    }
    if (reader.finished()) return {};
    mailbox.wait_and_run();
  }
}

}  // namespace xxl
