// Which bucket does a record belong to, where a comparator is the key? (Where words are:
// classifier.h.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "record/key_labels.h"
#include "record/key_layout.h"
#include "sort/classifier.h"
#include "sort/segment.h"

namespace xxl {

// Splitters are words of labels (record/key_labels.h): a label is the bound of a bucket that begins
// with the splitter, the number behind it of one that begins above it.
class ComparedClassifier {
 public:
  // `layout`, which has labels, must outlive it.
  explicit ComparedClassifier(const KeyLayout& layout)
      : record_bytes_(layout.record_bytes()), labels_(*layout.labels()) {}

  // Learns from records what is probably compared, to compare less. Before anything else, once.
  void guess_from(const std::vector<const std::byte*>& sample);
  // As pick_splitters(), of records, which get labels. Perhaps fewer, where there is no room for
  // labels.
  std::vector<SplitterKey> splitters_of(std::vector<const std::byte*> sample,
                                        std::size_t parts) const;

  // `splitters` in strictly ascending order.
  void set_splitters(const std::vector<SplitterKey>& splitters);
  // As Classifier::classify().
  void classify(const Segment& segment, std::uint16_t* ids, std::uint32_t* counts) const;

 private:
  void set_guess();

  std::size_t record_bytes_;
  KeyLabels& labels_;
  // The records whose labels the splitters are, and the bucket of each place among them
  // (detail::RecordOrder).
  std::vector<std::byte> records_;
  std::size_t count_ = 0;
  std::vector<std::uint16_t> bucket_of_place_;
  // With a guess of what is compared: where records lie by that.
  std::unique_ptr<KeyLayout> guessed_layout_;
  std::unique_ptr<Classifier> guessed_;
  std::vector<std::uint16_t> guessed_place_;  // of its buckets: splitters not above
};

}  // namespace xxl
