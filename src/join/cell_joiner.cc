#include "join/cell_joiner.h"

#include <string>
#include <vector>

#include "base/error.h"
#include "base/prefetch.h"
#include "join/general_joiner.h"
#include "record/record_key.h"

namespace xxl {
namespace {

// The groups of one side of a cell, one after the other: records begin() to end() have one key.
class SideGroups {
 public:
  SideGroups(const CellRecords& records, const KeyExtractor& keys, JoinSide side,
             JoinEmitter& emitter)
      : records_(records), keys_(keys), side_(side), emitter_(emitter) {
    next();
  }

  bool ended() const { return begin_ == records_.size(); }
  void next() {
    begin_ = end_;
    if (ended()) return;
    do {
      if (end_ + kPrefetchRecords < records_.size()) {
        records_.access.prefetch(records_.items[end_ + kPrefetchRecords].place());
      }
      emitter_.arrived(side_, records_[end_++]);
    } while (end_ < records_.size() && records_.same_key(end_));
    key_.set(keys_, records_[begin_]);
  }

  const RecordKey& key() const { return key_; }
  std::string_view first() const { return records_[begin_]; }
  std::size_t size() const { return end_ - begin_; }
  // Calls visit(record) for each record of the group.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = begin_; i < end_; ++i) visit(records_[i]);
  }
  // Until it returns false.
  template <class Visit>
  bool all_of(Visit&& visit) const {
    std::size_t i = begin_;
    while (i < end_ && visit(records_[i])) ++i;
    return i == end_;
  }
  void all_alone() const {
    for_each([&](std::string_view record) { emitter_.alone(side_, record); });
  }

 private:
  const CellRecords& records_;
  const KeyExtractor& keys_;
  JoinSide side_;
  JoinEmitter& emitter_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  RecordKey key_;
};

// The parts of a group's S's, for its many R's.
class GroupParts {
 public:
  explicit GroupParts(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // False if there is no room for them.
  bool take(const SideGroups& s, JoinEmitter& emitter) {
    bytes_.clear();
    ends_.clear();
    return s.all_of([&](std::string_view record) {
      const std::size_t used = bytes_.size() + ends_.size() * sizeof(std::size_t);
      if (used + record.size() > most_bytes_) return false;
      emitter.append_part(record, bytes_);
      ends_.push_back(bytes_.size());
      return true;
    });
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      visit(std::string_view(bytes_).substr(begin, end - begin));
      begin = end;
    }
  }

 private:
  std::size_t most_bytes_;
  std::string bytes_;
  std::vector<std::size_t> ends_;
};

void join_group(const SideGroups& r, const SideGroups& s, JoinEmitter& emitter, GroupParts& parts) {
  emitter.group(r.size(), s.size());
  if (!emitter.shape().pairs) {
    r.for_each([&](std::string_view record) { emitter.matched_r(record); });
  } else if (emitter.writes() && r.size() > 1 && parts.take(s, emitter)) {
    r.for_each([&](std::string_view record) {
      emitter.begin_pairs(record);
      parts.for_each([&](std::string_view part) { emitter.pair_of_part(part); });
    });
  } else if (emitter.writes()) {
    r.for_each([&](std::string_view record) {
      emitter.begin_pairs(record);
      s.for_each([&](std::string_view partner) { emitter.pair(partner); });
    });
  }
}

}  // namespace

bool CellJoiner::take(std::size_t cell, std::span<const CellRecords> sides, const Sort& sort) {
  sort();
  RowOutput output(output_, first_ticket_ + cell, rules_.syntax, rules_.buffer_bytes);
  JoinEmitter emitter(rules_, output);
  GroupParts parts(rules_.buffer_bytes);
  SideGroups r(sides[0], *rules_.keys[0], JoinSide::r, emitter);
  SideGroups s(sides[1], *rules_.keys[1], JoinSide::s, emitter);
  while (!r.ended() && !s.ended()) {
    const int order = r.key().compare(s.key());
    if (order == 0 && !(rules_.matches_nothing && rules_.matches_nothing(r.first()))) {
      join_group(r, s, emitter, parts);
      r.next();
      s.next();
    } else if (order <= 0) {
      r.all_alone();
      r.next();
    } else {
      s.all_alone();
      s.next();
    }
  }
  for (; !r.ended(); r.next()) r.all_alone();
  for (; !s.ended(); s.next()) s.all_alone();
  output.finish();
  settle(emitter.totals());
  return true;
}

bool CellJoiner::stream(std::size_t cell, std::span<RecordMerge> sides) {
  RowOutput output(output_, first_ticket_ + cell, rules_.syntax, rules_.buffer_bytes);
  output.take_turn();  // and with it the store of groups, which is not used if nothing is written
  JoinEmitter emitter(rules_, output);
  MergedRecords r_records(std::move(sides[0])), s_records(std::move(sides[1]));
  const auto on_disorder = [] {
    throw Error(ErrorCode::corrupt, "a run is not in order: check this machine's memory and disks");
  };
  KeyedRecords r(r_records, *rules_.keys[0], on_disorder);
  KeyedRecords s(s_records, *rules_.keys[1], on_disorder);
  GeneralJoiner(r, s, rules_, group_, emitter).run([](std::uint64_t) {});
  output.finish();
  settle(emitter.totals());
  return true;
}

void CellJoiner::skip(std::size_t cell) {
  if (output_ != nullptr) output_->begin(first_ticket_ + cell, 0).finish();
}

void CellJoiner::settle(const JoinTotals& totals) {
  auto lock = monitor_.lock();
  totals_ += totals;
}

}  // namespace xxl
