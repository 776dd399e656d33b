#include "sort/key_divider.h"

#include <algorithm>
#include <utility>

namespace xxl {

KeyDivider::KeyDivider(const KeyLayout& layout) : layout_(layout), words_(layout) {
  if (!layout.words_are_key()) compared_.emplace(layout);
}

std::vector<SplitterKey> KeyDivider::splitters_of(std::vector<const std::byte*> sample,
                                                  std::size_t parts) const {
  if (compared_) return compared_->splitters_of(std::move(sample), parts);
  std::vector<SplitterKey> keys;
  keys.reserve(sample.size());
  for (const std::byte* record : sample) keys.push_back(splitter_key(layout_, record));
  return pick_splitters(std::move(keys), parts);
}

void KeyDivider::guess_from(const std::vector<const std::byte*>& sample) {
  if (compared_) compared_->guess_from(sample);
}

void KeyDivider::set_splitters(const std::vector<SplitterKey>& splitters) {
  compared_ ? compared_->set_splitters(splitters) : words_.set_splitters(splitters);
}

void KeyDivider::classify(const Segment& segment, std::uint16_t* ids, std::uint32_t* counts) const {
  compared_ ? compared_->classify(segment, ids, counts) : words_.classify(segment, ids, counts);
}

SplitterKey KeyDivider::lowest() const {
  return SplitterKey(std::min(layout_.words(), kMaxSplitterWords), 0);
}

bool KeyDivider::is_one_key(const SplitterKey& low, const SplitterKey* end) const {
  return layout_.words() <= kMaxSplitterWords &&
         successor(low) == (end != nullptr ? *end : SplitterKey{});
}

}  // namespace xxl
