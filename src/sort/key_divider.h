// Divides records into buckets by splitters, whether words or a comparator are the key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "record/key_layout.h"
#include "sort/classifier.h"
#include "sort/compared_classifier.h"
#include "sort/segment.h"

namespace xxl {

class KeyDivider {
 public:
  // `layout` must outlive it.
  explicit KeyDivider(const KeyLayout& layout);

  // Splitters of about `parts` equal parts of what `sample` was taken from, in strictly ascending
  // order.
  std::vector<SplitterKey> splitters_of(std::vector<const std::byte*> sample,
                                        std::size_t parts) const;
  // Lets the comparator be called less often. At most once, before set_splitters().
  void guess_from(const std::vector<const std::byte*>& sample);
  // `splitters` in strictly ascending order: one fewer than buckets.
  void set_splitters(const std::vector<SplitterKey>& splitters);
  // Writes the buckets of the records of `segment` to `ids`, and adds their numbers to `counts`.
  // From any thread.
  void classify(const Segment& segment, std::uint16_t* ids, std::uint32_t* counts) const;

  // The splitter below which no key lies.
  SplitterKey lowest() const;
  // True if all keys from `low` to below `end` are equal; null: there is no end.
  bool is_one_key(const SplitterKey& low, const SplitterKey* end) const;

 private:
  const KeyLayout& layout_;
  Classifier words_;
  std::optional<ComparedClassifier> compared_;
};

}  // namespace xxl
