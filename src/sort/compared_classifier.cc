#include "sort/compared_classifier.h"

#include <utility>

#include "record/guess_member.h"

namespace xxl {

void ComparedClassifier::guess_from(const std::vector<const std::byte*>& sample) {
  auto guess = guess_member(labels_.order(), record_bytes_, sample);
  if (guess) labels_.set_guess(std::move(*guess));
}

// They are picked by their ranks in the sample.
std::vector<SplitterKey> ComparedClassifier::splitters_of(std::vector<const std::byte*> sample,
                                                          std::size_t parts) const {
  const detail::RecordOrder& order = labels_.order();
  std::vector<const std::byte*> spare(sample.size());
  order.sort(sample.data(), sample.size(), spare.data());
  std::vector<SplitterKey> ranks;  // even numbers, the same for equal records
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const bool equal = i > 0 && order.compare(sample[i - 1], sample[i]) == 0;
    ranks.push_back(equal ? ranks.back() : SplitterKey{2 * i});
  }
  std::vector<const std::byte*> records;
  std::vector<std::pair<std::size_t, std::uint64_t>> picked;  // of these, and 1 if behind it
  for (const SplitterKey& rank : pick_splitters(std::move(ranks), parts)) {
    const std::byte* const record = sample[rank.front() / 2];
    if (records.empty() || records.back() != record) records.push_back(record);
    picked.emplace_back(records.size() - 1, rank.front() % 2);
  }
  const std::vector<std::uint64_t> words = labels_.add(records);
  std::vector<SplitterKey> splitters;
  for (const auto& [record, behind] : picked) {
    const std::uint64_t word = words[record] | behind;
    if (word <= 1) continue;  // found no place, below all that have one
    if (splitters.empty() || splitters.back().front() < word) splitters.push_back({word});
  }
  return splitters;
}

void ComparedClassifier::set_splitters(const std::vector<SplitterKey>& splitters) {
  records_.clear();
  count_ = 0;
  bucket_of_place_.assign(1, 0);  // below all splitters
  std::size_t bucket = 0;
  const auto add_place = [&](std::uint64_t word) {
    while (bucket < splitters.size() && splitters[bucket].front() <= word) ++bucket;
    bucket_of_place_.push_back(static_cast<std::uint16_t>(bucket));
  };
  while (bucket < splitters.size()) {
    const std::uint64_t label = splitters[bucket].front() & ~std::uint64_t{1};
    const std::byte* const record = labels_.splitter(label);
    records_.insert(records_.end(), record, record + record_bytes_);
    ++count_;
    add_place(label);
    add_place(label + 1);
  }
  set_guess();
}

// Splitters of the guessed member, as far as they ascend by it. (Others are found by comparing.)
void ComparedClassifier::set_guess() {
  guessed_.reset();
  const RecordFormat* const guess = labels_.guess();
  if (guess == nullptr) return;
  guessed_layout_ = std::make_unique<KeyLayout>(*guess);
  std::vector<SplitterKey> splitters;
  guessed_place_.assign(1, 0);
  for (std::size_t i = 0; i < count_; ++i) {
    SplitterKey key = splitter_key(*guessed_layout_, records_.data() + i * record_bytes_);
    if (splitters.empty() || splitters.back() < key) {
      splitters.push_back(std::move(key));
      guessed_place_.push_back(0);
    }
    guessed_place_.back() = static_cast<std::uint16_t>(i + 1);
  }
  guessed_ = std::make_unique<Classifier>(*guessed_layout_);
  guessed_->set_splitters(std::move(splitters));
}

void ComparedClassifier::classify(const Segment& segment, std::uint16_t* ids,
                                  std::uint32_t* counts) const {
  const detail::RecordOrder& order = labels_.order();
  if (guessed_ != nullptr) {
    thread_local std::vector<std::uint32_t> unused;
    unused.resize(guessed_->buckets());
    guessed_->classify(segment, ids, unused.data());
    for (std::size_t i = 0; i < segment.count; ++i) ids[i] = guessed_place_[ids[i]];
    order.place_near(segment.records, segment.count, records_.data(), count_, ids);
  } else {
    order.place(segment.records, segment.count, records_.data(), count_, ids);
  }
  for (std::size_t i = 0; i < segment.count; ++i) ++counts[ids[i] = bucket_of_place_[ids[i]]];
}

}  // namespace xxl
