#include "sort/compared_classifier.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace xxl {
namespace {

constexpr std::size_t kMaxGuessedOffset = 64;  // of a member, at most

// Members of 8 and 4 bytes where the compiler may have put some.
std::vector<KeyField> possible_members(std::size_t record_bytes) {
  std::vector<KeyField> members;
  for (std::size_t offset = 0; offset + 4 <= std::min(record_bytes, kMaxGuessedOffset);
       offset += 4) {
    for (const KeyType type :
         {KeyType::u64, KeyType::i64, KeyType::f64, KeyType::u32, KeyType::i32, KeyType::f32}) {
      const std::size_t bytes =
          type == KeyType::u64 || type == KeyType::i64 || type == KeyType::f64 ? 8 : 4;
      if (offset % bytes != 0 || offset + bytes > record_bytes) continue;
      for (const bool descending : {false, true}) {
        members.push_back(
            {.offset = offset, .length = bytes, .type = type, .descending = descending});
      }
    }
  }
  return members;
}

// A member by which all pairs of neighbours in `sample` are ordered that differ in it, as at least
// half of them do: a number of 4 or 8 bytes, ascending or descending. It is only probable that all
// other records are, too.
std::optional<RecordFormat> guess_member(const detail::RecordOrder& order, std::size_t record_bytes,
                                         const std::vector<const std::byte*>& sample) {
  constexpr std::size_t kPairs = 4096;
  const std::size_t pairs = std::min(kPairs, sample.size() / 2);
  for (const KeyField& member : possible_members(record_bytes)) {
    RecordFormat format{.name = "guessed", .record_bytes = record_bytes, .key = {member}};
    const KeyLayout layout(format);
    std::size_t told_apart = 0;
    bool agrees = true;
    for (std::size_t i = 0; i < pairs && agrees; ++i) {
      const std::byte* const a = sample[2 * i];
      const std::byte* const b = sample[2 * i + 1];
      const std::uint64_t x = layout.word(a, 0), y = layout.word(b, 0);
      if (x == y) continue;
      agrees = x < y ? order.compare(a, b) < 0 : order.compare(a, b) > 0;
      ++told_apart;
    }
    if (!agrees || told_apart < std::max<std::size_t>(pairs / 2, 8)) continue;
    return format;
  }
  return std::nullopt;
}

}  // namespace

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
