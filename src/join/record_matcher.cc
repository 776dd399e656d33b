#include "join/record_matcher.h"

#include <algorithm>

#include "base/error.h"
#include "record/native_key.h"

namespace xxl {
namespace {

// Keys that are one native number at the start of the record, as an unsigned number of their order.
template <class Number>
class NativeKeys {
 public:
  static constexpr bool kWhole = true;
  explicit NativeKeys(const KeyLayout& layout) : transform_(layout.transform()) {}
  Number operator()(const std::byte* record) const {
    return native_key<Number>(record, transform_);
  }

 private:
  KeyTransform transform_;
};

// First words of any keys. What follows must be compared where these agree, unless `kOneWord`.
template <bool kOneWord>
class WordKeys {
 public:
  static constexpr bool kWhole = kOneWord;
  explicit WordKeys(const KeyLayout& layout) : layout_(&layout) {}
  std::uint64_t operator()(const std::byte* record) const { return layout_->word(record, 0); }

 private:
  const KeyLayout* layout_;
};

// Goes through a sequence.
class Cursor {
 public:
  explicit Cursor(const RecordSequence& sequence)
      : sequence_(sequence), record_bytes_(sequence.record_bytes()) {
    load();
  }
  bool at_end() const { return at_ == nullptr; }
  const std::byte* record() const { return at_; }
  // Number of the record; at the end, how many there are.
  std::uint32_t number() const { return number_; }
  void advance() {
    ++number_;
    at_ += record_bytes_;
    if (at_ == end_) load();
  }

 private:
  void load() {
    at_ = end_ = nullptr;
    if (number_ == sequence_.size()) return;
    std::size_t count;
    at_ = sequence_.at(number_, count);
    end_ = at_ + count * record_bytes_;
  }

  const RecordSequence& sequence_;
  const std::size_t record_bytes_;
  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;  // of the segment
  std::uint32_t number_ = 0;
};

// Collects matches; similar neighbours become one.
class MatchList {
 public:
  MatchList(JoinKind kind, std::span<Match> matches) : kind_(kind), matches_(matches) {}

  void group(std::uint32_t r, std::uint32_t r_count, std::uint32_t s, std::uint32_t s_count) {
    totals_.matched_r += r_count;
    totals_.matched_s += s_count;
    if (kind_ == JoinKind::semi) return alone(Match::Rows::r_only, r, s, r_count, 0);
    if (kind_ == JoinKind::anti) return;
    if (r_count == 1 && s_count == 1) {
      totals_.rows += 1;
      if (count_ > 0) {
        Match& last = matches_[count_ - 1];
        if (last.rows == Match::Rows::zipped && last.r + last.r_count == r &&
            last.s + last.s_count == s) {
          ++last.r_count;
          ++last.s_count;
          return;
        }
      }
      return add({r, s, 1, 1, Match::Rows::zipped});
    }
    totals_.rows += std::uint64_t{r_count} * s_count;
    add({r, s, r_count, s_count, Match::Rows::product});
  }
  void unmatched_r(std::uint32_t r, std::uint32_t count, std::uint32_t s) {
    if (count > 0 && keeps_unmatched_r(kind_)) alone(Match::Rows::r_only, r, s, count, 0);
  }
  void unmatched_s(std::uint32_t s, std::uint32_t count, std::uint32_t r) {
    if (count > 0 && keeps_unmatched_s(kind_)) alone(Match::Rows::s_only, r, s, 0, count);
  }

  std::size_t count() const { return count_; }
  const MatchTotals& totals() const { return totals_; }

 private:
  void alone(Match::Rows rows, std::uint32_t r, std::uint32_t s, std::uint32_t r_count,
             std::uint32_t s_count) {
    totals_.rows += r_count + s_count;
    if (count_ > 0) {
      Match& last = matches_[count_ - 1];
      const bool follows =
          rows == Match::Rows::r_only ? last.r + last.r_count == r : last.s + last.s_count == s;
      if (last.rows == rows && follows) {
        last.r_count += r_count;
        last.s_count += s_count;
        return;
      }
    }
    add({r, s, r_count, s_count, rows});
  }
  void add(const Match& match) {
    XXL_CHECK(count_ < matches_.size());
    matches_[count_++] = match;
  }

  JoinKind kind_;
  std::span<Match> matches_;
  std::size_t count_ = 0;
  MatchTotals totals_;
};

template <class RKeys, class SKeys>
class Matcher final : public RecordMatcher {
 public:
  Matcher(const KeyLayout& r, const KeyLayout& s, JoinKind kind)
      : r_layout_(r), s_layout_(s), kind_(kind), r_keys_(r), s_keys_(s) {}

  MatchTotals match(const RecordSequence& r_records, const RecordSequence& s_records,
                    std::span<Match> matches, std::size_t& count) const override {
    MatchList list(kind_, matches);
    Cursor r(r_records), s(s_records);
    while (!r.at_end() && !s.at_end()) {
      auto r_key = r_keys_(r.record());
      auto s_key = s_keys_(s.record());
      int order = compare(r_key, r.record(), s_key, s.record());
      if (order < 0) {
        const std::uint32_t first = r.number();
        do {
          r.advance();
          if (r.at_end()) break;
          r_key = r_keys_(r.record());
        } while (compare(r_key, r.record(), s_key, s.record()) < 0);
        list.unmatched_r(first, r.number() - first, s.number());
      } else if (order > 0) {
        const std::uint32_t first = s.number();
        do {
          s.advance();
          if (s.at_end()) break;
          s_key = s_keys_(s.record());
        } while (compare(r_key, r.record(), s_key, s.record()) > 0);
        list.unmatched_s(first, s.number() - first, r.number());
      } else {
        const std::byte* const key_record = r.record();
        const std::uint32_t r_first = r.number(), s_first = s.number();
        const std::uint32_t r_count = pass_group(r, r_keys_, r_layout_, r_key, key_record);
        const std::uint32_t s_count = pass_group(s, s_keys_, s_layout_, r_key, key_record);
        list.group(r_first, r_count, s_first, s_count);
      }
    }
    const auto left = [](const Cursor& cursor, const RecordSequence& records) {
      return static_cast<std::uint32_t>(records.size()) - cursor.number();
    };
    list.unmatched_r(r.number(), left(r, r_records), s.number());
    list.unmatched_s(s.number(), left(s, s_records), r.number());
    count = list.count();
    return list.totals();
  }

 private:
  template <class A, class B>
  int compare(A r_key, const std::byte* r, B s_key, const std::byte* s) const {
    if (r_key != s_key) return r_key < s_key ? -1 : 1;
    if constexpr (RKeys::kWhole && SKeys::kWhole) {
      return 0;
    } else {
      return compare_keys(r_layout_, r, s_layout_, s);
    }
  }

  // Passes the records of the group that starts at `cursor`; returns how many.
  template <class Keys, class Key>
  std::uint32_t pass_group(Cursor& cursor, const Keys& keys, const KeyLayout& layout, Key key,
                           const std::byte* key_record) const {
    const std::uint32_t first = cursor.number();
    for (;;) {
      cursor.advance();
      if (cursor.at_end()) break;
      if (keys(cursor.record()) != key) break;
      if constexpr (!Keys::kWhole) {
        if (compare_keys(layout, cursor.record(), r_layout_, key_record) != 0) break;
      }
    }
    return cursor.number() - first;
  }

  const KeyLayout& r_layout_;
  const KeyLayout& s_layout_;
  JoinKind kind_;
  RKeys r_keys_;
  SKeys s_keys_;
};

}  // namespace

void RecordSequence::append(const Segment& segment) {
  if (segment.count == 0) return;
  XXL_CHECK(size_ + segment.count < ~std::uint32_t{0});
  segments_.push_back({segment.records, size_, segment.count});
  size_ += segment.count;
}

const std::byte* RecordSequence::at(std::size_t index, std::size_t& count) const {
  auto segment = segments_.begin();
  if (segments_.size() > 4) {
    segment =
        std::upper_bound(segments_.begin(), segments_.end(), index,
                         [](std::size_t i, const NumberedSegment& s) { return i < s.first; }) -
        1;
  } else {
    while (index >= segment->first + segment->count) ++segment;
  }
  const std::size_t offset = index - segment->first;
  count = segment->count - offset;
  return segment->records + offset * record_bytes_;
}

void RecordSequence::add_to(MultisetHash& hash) const {
  for (const NumberedSegment& segment : segments_) {
    add_records(hash, segment.records, segment.count, record_bytes_);
  }
}

std::unique_ptr<RecordMatcher> make_record_matcher(const KeyLayout& r, const KeyLayout& s,
                                                   JoinKind kind) {
  XXL_CHECK(r.words() == s.words());
  // Native numbers of 4 bytes are in the upper half of a word: both sides must be read alike.
  if (is_native32(r.kind()) && is_native32(s.kind())) {
    return std::make_unique<Matcher<NativeKeys<std::uint32_t>, NativeKeys<std::uint32_t>>>(r, s,
                                                                                           kind);
  }
  if (is_native64(r.kind()) && is_native64(s.kind())) {
    return std::make_unique<Matcher<NativeKeys<std::uint64_t>, NativeKeys<std::uint64_t>>>(r, s,
                                                                                           kind);
  }
  if (r.words() == 1) return std::make_unique<Matcher<WordKeys<true>, WordKeys<true>>>(r, s, kind);
  return std::make_unique<Matcher<WordKeys<false>, WordKeys<false>>>(r, s, kind);
}

}  // namespace xxl
