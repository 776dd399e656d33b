#include "run/folded_piece.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace xxl {
namespace {

constexpr std::size_t kBufferBytes = 16 * kKiB;

}  // namespace

GroupReader::GroupReader(const RecordSource& source, const KeyLayout& layout, MultisetHash* hash)
    : source_(source),
      layout_(layout),
      hash_(hash),
      at_once_(std::max<std::size_t>(1, kBufferBytes / layout.record_bytes())) {}

const std::byte* GroupReader::record() {
  const std::size_t record_bytes = layout_.record_bytes();
  if (place_ == filled_) {
    first_ += filled_;
    place_ = 0;
    filled_ = std::min(at_once_, source_.size() - first_);
    if (filled_ == 0) return nullptr;
    buffer_.resize(filled_ * record_bytes);
    source_.write(first_, filled_, buffer_.data());
    if (hash_ != nullptr) add_records(*hash_, buffer_.data(), filled_, record_bytes);
  }
  return buffer_.data() + place_ * record_bytes;
}

bool GroupReader::next(RecordGroup& group) {
  const std::byte* next = record();
  if (next == nullptr) return false;
  group.begin(next);
  for (++place_; (next = record()) != nullptr; ++place_) {
    if (layout_.compare(group.first(), next) != 0) return true;
    if (!group.add(next)) {
      has_parted_ = true;
      return true;
    }
  }
  return true;
}

std::size_t FoldedPiece::memory_bytes(std::size_t record_bytes) {
  // Two readers, the groups of the piece, and the open one.
  return 2 * std::max(kBufferBytes, record_bytes) + 5 * record_bytes;
}

FoldedPiece::FoldedPiece(const RecordSource& source, const KeyLayout& layout,
                         const FoldRules& rules)
    : layout_(layout),
      record_bytes_(rules.bytes_out()),
      first_(rules),
      last_(rules),
      reader_(source, layout, nullptr),
      current_(rules) {
  for (GroupReader reader(source, layout, &hash_); reader.next(last_); ++groups_) {
    if (groups_ == 0) first_ = last_;
    has_parted_ = has_parted_ || reader.has_parted();
  }
}

void FoldedPiece::join(RecordGroup& open) {
  if (groups_ == 0) return;
  if (!open.empty()) {
    const bool same_key = layout_.compare(open.first(), first_.first()) == 0;
    skips_first_ = same_key && open.add(first_);
    has_parted_ = has_parted_ || (same_key && !skips_first_);
    if (skips_first_ && groups_ == 1) return;
    leading_ = std::move(open);
  }
  open = std::move(last_);
  size_ = groups_ - 1 - (skips_first_ ? 1 : 0) + (leading_ ? 1 : 0);
}

void FoldedPiece::end(RecordGroup& open) {
  leading_ = std::move(open);
  open.clear();
  size_ = 1;
}

void FoldedPiece::write(std::size_t first, std::size_t count, std::byte* out) const {
  for (; count > 0; --count, ++first, out += record_bytes_) {
    if (first == 0 && skips_first_) XXL_CHECK(reader_.next(current_));
    const bool is_leading = first == 0 && leading_;
    if (!is_leading) XXL_CHECK(reader_.next(current_));
    const RecordGroup& group = is_leading ? *leading_ : current_;
    group.write(out);
    records_written_ += group.count();
  }
}

}  // namespace xxl
