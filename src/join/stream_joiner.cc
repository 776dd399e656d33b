#include "join/stream_joiner.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/partition_index.h"
#include "base/task.h"

namespace xxl {
namespace {

constexpr std::size_t kR = static_cast<std::size_t>(JoinSide::r);
constexpr std::size_t kS = static_cast<std::size_t>(JoinSide::s);

// Parts given to the workers at once, for each of them.
constexpr std::size_t kTasksRunning = 4;

// Rows of a part of a piece.
class MergedRows final : public RecordSource {
 public:
  // `rows` from row `offset` of match `match` on. References must outlive it.
  MergedRows(const RowLayout& layout, const std::array<RecordSequence, kJoinSides>& records,
             std::span<const Match> matches, std::size_t match, std::uint64_t offset,
             std::size_t rows)
      : layout_(layout),
        records_(records),
        matches_(matches),
        match_(match),
        offset_(offset),
        rows_(rows) {}

  std::size_t size() const override { return rows_; }

  // REQUIRES: rows are asked for in order, each once.
  void write(std::size_t first, std::size_t count, std::byte* out) const override {
    XXL_CHECK(first == written_);
    written_ += count;
    while (count > 0) {
      const Match& match = matches_[match_];
      const auto n =
          static_cast<std::size_t>(std::min<std::uint64_t>(count, match.row_count() - offset_));
      const std::size_t done = write_some(match, n, out);
      out += done * layout_.row_bytes();
      count -= done;
      offset_ += done;
      if (offset_ == match.row_count()) {
        ++match_;
        offset_ = 0;
      }
    }
  }

 private:
  // Up to `count` rows of `match` from `offset_` on, as far as records are consecutive.
  std::size_t write_some(const Match& match, std::size_t count, std::byte* out) const {
    std::size_t r = match.r, s = match.s;
    bool steps_r = match.rows != Match::Rows::s_only, steps_s = match.rows != Match::Rows::r_only;
    const bool has_r = steps_r, has_s = steps_s;
    if (match.rows == Match::Rows::product && match.s_count > 1) {
      r += static_cast<std::size_t>(offset_ / match.s_count);
      s += static_cast<std::size_t>(offset_ % match.s_count);
      count = std::min<std::size_t>(count, match.s + match.s_count - s);
      steps_r = false;
    } else {
      r += static_cast<std::size_t>(offset_);
      if (match.rows == Match::Rows::product) {
        steps_s = false;
      } else {
        s += static_cast<std::size_t>(offset_);
      }
    }
    std::size_t stretch;
    const std::byte* r_record = nullptr;
    const std::byte* s_record = nullptr;
    if (has_r) {
      r_record = records_[kR].at(r, stretch);
      if (steps_r) count = std::min(count, stretch);
    }
    if (has_s) {
      s_record = records_[kS].at(s, stretch);
      if (steps_s) count = std::min(count, stretch);
    }
    layout_.write_run(r_record, has_r && steps_r ? records_[kR].record_bytes() : 0, s_record,
                      has_s && steps_s ? records_[kS].record_bytes() : 0, count, out);
    return count;
  }

  const RowLayout& layout_;
  const std::array<RecordSequence, kJoinSides>& records_;
  std::span<const Match> matches_;
  mutable std::size_t match_;
  mutable std::uint64_t offset_;
  std::size_t rows_;
  mutable std::size_t written_ = 0;
};

// Rows that are written already.
class FinishedRows final : public RecordSource {
 public:
  FinishedRows(std::span<const std::byte> rows, std::size_t row_bytes)
      : rows_(rows), row_bytes_(row_bytes) {}
  std::size_t size() const override { return rows_.size() / row_bytes_; }
  void write(std::size_t first, std::size_t count, std::byte* out) const override {
    std::memcpy(out, rows_.data() + first * row_bytes_, count * row_bytes_);
  }

 private:
  std::span<const std::byte> rows_;
  std::size_t row_bytes_;
};

// Matches that a piece may have: one for each key in it.
std::size_t list_capacity(std::size_t piece_records) {
  return piece_records + piece_records / 2 + 1;
}

}  // namespace

std::size_t StreamJoiner::list_bytes(std::size_t piece_records) {
  return list_capacity(piece_records) * sizeof(Match);
}

StreamJoiner::StreamJoiner(const StreamJoinContext& context)
    : context_(context),
      matcher_(make_record_matcher(*context.layouts[kR], *context.layouts[kS], context.kind)) {
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    sides_[side].layout = context.layouts[side];
  }
  const std::size_t capacity = list_capacity(context.piece_records);
  auto* memory = reinterpret_cast<Match*>(context.list_memory.data());
  for (std::size_t at = 0; (at + capacity) * sizeof(Match) <= context.list_memory.size();
       at += capacity) {
    lists_.push_back({memory + at, capacity});
  }
  XXL_CHECK(!lists_.empty() && context.part_bytes >= context.rows.row_bytes());
}

void StreamJoiner::add(JoinSide which, SideBlock block) {
  SideStream& side = side_of(which);
  if (block.records.count == 0) return block.release();
  const std::uint64_t first = side.available;
  side.available += block.records.count;
  side.blocks.push_back({std::move(block), first});
}

bool StreamJoiner::finished() const {
  return mode_ == Mode::regions && pieces_.empty() && running_ == 0 && !region_ &&
         std::all_of(sides_.begin(), sides_.end(),
                     [](const SideStream& side) { return side.ended && side.empty(); });
}

void StreamJoiner::pump() {
  if (mode_ == Mode::gathering) gather();
  if (mode_ == Mode::product) produce();
  if (mode_ == Mode::regions) {
    while (start_piece()) {
    }
  }
  write_parts();
}

void StreamJoiner::break_stall() {
  XXL_CHECK(idle() && pieces_.empty() && !region_);
  if (mode_ != Mode::regions) return;
  if (!plan_region(true)) spill_group();
  pump();
}

// ---- records in memory ----

// The block that has record `index`.
std::deque<StreamJoiner::Held>::const_iterator StreamJoiner::holder(const SideStream& side,
                                                                    std::uint64_t index) const {
  return std::upper_bound(side.blocks.begin(), side.blocks.end(), index,
                          [](std::uint64_t i, const Held& h) { return i < h.first; }) -
         1;
}

const std::byte* StreamJoiner::record(const SideStream& side, std::uint64_t index) const {
  const auto held = holder(side, index);
  return held->block.records.records + (index - held->first) * side.layout->record_bytes();
}

// First record of `side` in [position, high) whose key is not below that of `key`, of `other`, nor
// equal to it with `behind_equal`.
std::uint64_t StreamJoiner::bound(const SideStream& side, std::uint64_t high,
                                  const SideStream& other, const std::byte* key,
                                  bool behind_equal) const {
  return partition_index(side.position, high, [&](std::uint64_t index) {
    return compare_keys(*side.layout, record(side, index), *other.layout, key) <
           (behind_equal ? 1 : 0);
  });
}

void StreamJoiner::take(SideStream& side, std::uint64_t end, RecordSequence& records) const {
  std::uint64_t at = side.position;
  if (at == end) return;
  for (auto held = holder(side, at); at < end; ++held) {
    const Segment& block = held->block.records;
    const std::uint64_t count = std::min(end, held->first + block.count) - at;
    records.append({block.records + (at - held->first) * side.layout->record_bytes(),
                    static_cast<std::size_t>(count)});
    at += count;
  }
}

void StreamJoiner::release(JoinSide which) {
  SideStream& side = side_of(which);
  const std::uint64_t needed =
      pieces_.empty() ? side.position : pieces_.front()->begin[static_cast<std::size_t>(which)];
  while (!side.blocks.empty() &&
         side.blocks.front().first + side.blocks.front().block.records.count <= needed) {
    const auto release = std::move(side.blocks.front().block.release);
    side.blocks.pop_front();
    release();
  }
}

// ---- regions ----

// Passes records up to `end`, which have partners, without a piece.
void StreamJoiner::retire(SideStream& side, std::uint64_t end) {
  RecordSequence records(side.layout->record_bytes());
  take(side, end, records);
  records.add_to(side.hash);
  side.matched += end - side.position;
  side.position = end;
}

// A group that was kept for the rest of the other side's, which has ended.
void StreamJoiner::retire_joined() {
  for (const JoinSide which : {JoinSide::r, JoinSide::s}) {
    SideStream& side = side_of(which);
    const SideStream& other = side_of(which == JoinSide::r ? JoinSide::s : JoinSide::r);
    if (side.position >= side.joined_until) continue;
    const bool goes_on = other.empty()
                             ? !other.ended
                             : compare_keys(*other.layout, record(other, other.position),
                                            *side.layout, record(side, side.position)) <= 0;
    if (goes_on) continue;
    retire(side, side.joined_until);
    release(which);
  }
}

// Where the records of `side` that may be joined now end: those below the bound, and those below
// all that is to come of `other`, which have no partner.
std::uint64_t StreamJoiner::limit(const SideStream& side, const SideStream& other) const {
  if (other.empty()) return other.ended ? side.available : side.position;
  const std::uint64_t alone =
      lower_bound(side, side.available, other, record(other, other.position));
  std::uint64_t below = side.available;
  if (!side.ended && !side.empty()) {
    below = lower_bound(side, below, side, record(side, side.available - 1));
  }
  if (!other.ended) {
    below = lower_bound(side, below, other, record(other, other.available - 1));
  }
  return std::max(alone, below);
}

// Small regions cost as much to plan as large ones: they are taken only with `must`.
bool StreamJoiner::plan_region(bool must) {
  retire_joined();
  SideStream& r = sides_[kR];
  SideStream& s = sides_[kS];
  Region region;
  region.end = {limit(r, s), limit(s, r)};
  const std::uint64_t records = region.end[kR] - r.position + (region.end[kS] - s.position);
  const bool worthwhile = must || (r.ended && s.ended) || records >= context_.piece_records;
  if (records == 0) return plan_group(must);
  if (!worthwhile) return false;
  region_ = region;
  return true;
}

// Nothing is below the bound: both sides may begin with one group that is incomplete. If one side's
// part of it is in memory, the other's can pass by it.
bool StreamJoiner::plan_group(bool must) {
  SideStream& r = sides_[kR];
  SideStream& s = sides_[kS];
  if (r.empty() || s.empty()) return false;
  const std::byte* const key = record(r, r.position);
  if (compare_keys(*r.layout, key, *s.layout, record(s, s.position)) != 0) return false;
  Region region;
  region.end = {upper_bound(r, r.available, r, key), upper_bound(s, s.available, r, key)};
  const bool r_is_whole = region.end[kR] < r.available || r.ended;
  const bool s_is_whole = region.end[kS] < s.available || s.ended;
  std::uint64_t passing = 0;
  if (s_is_whole) {
    region.kept = JoinSide::s;
    passing = region.end[kR] - r.position;
  } else if (!keeps_pairs(context_.kind)) {
    // One S is as good as many.
    passing = region.end[kS] - s.position - 1;
    if (passing == 0 || (!must && passing < context_.piece_records)) return false;
    retire(s, region.end[kS] - 1);
    release(JoinSide::s);
    return false;
  } else if (r_is_whole && region.end[kR] - r.position == 1) {
    // The order of rows is the same whether the S's come together or one after the other.
    region.kept = JoinSide::r;
    passing = region.end[kS] - s.position;
  }
  if (passing == 0 || (!must && passing < context_.piece_records)) return false;
  region_ = region;
  return true;
}

// Ends of the next piece of the region: where the merge path of both sides is after piece_records,
// moved back to the first record of the next key.
void StreamJoiner::cut(std::array<std::uint64_t, kJoinSides>& end) const {
  const SideStream& r = sides_[kR];
  const SideStream& s = sides_[kS];
  const std::uint64_t r_left = end[kR] - r.position, s_left = end[kS] - s.position;
  const std::uint64_t records = context_.piece_records;
  if (r_left + s_left <= records + records / 2) return;
  // The smallest number of R's that are not before the S's left over.
  const std::uint64_t of_r = partition_index(
      records - std::min(records, s_left), std::min(records, r_left), [&](std::uint64_t count) {
        return compare_keys(*r.layout, record(r, r.position + count), *s.layout,
                            record(s, s.position + records - count - 1)) < 0;
      });
  const std::uint64_t r_at = r.position + of_r, s_at = s.position + records - of_r;
  const SideStream* next = &r;
  const std::byte* key = r_at < end[kR] ? record(r, r_at) : nullptr;
  if (s_at < end[kS]) {
    const std::byte* const s_key = record(s, s_at);
    if (key == nullptr || compare_keys(*r.layout, key, *s.layout, s_key) > 0) {
      next = &s;
      key = s_key;
    }
  }
  const std::array<std::uint64_t, kJoinSides> whole = {lower_bound(r, r_at, *next, key),
                                                       lower_bound(s, s_at, *next, key)};
  if (whole[kR] > r.position || whole[kS] > s.position) {
    end = whole;
  } else {  // one group is larger than a piece
    end = {upper_bound(r, end[kR], *next, key), upper_bound(s, end[kS], *next, key)};
  }
}

// ---- pieces ----

bool StreamJoiner::start_piece() {
  if (lists_.empty() || running_ >= kTasksRunning * context_.workers.width()) return false;
  if (!region_ && !plan_region(false)) return false;
  std::array<std::uint64_t, kJoinSides> end = region_->end;
  auto piece = std::make_unique<JoinPiece>(context_);
  piece->kept = region_->kept;
  if (region_->kept) {
    const std::size_t passing = *region_->kept == JoinSide::s ? kR : kS;
    end[passing] = std::min(end[passing], sides_[passing].position + context_.piece_records);
  } else {
    cut(end);
  }
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    SideStream& side = sides_[i];
    piece->begin[i] = side.position;
    take(side, end[i], piece->records[i]);
    if (piece->kept == static_cast<JoinSide>(i)) {
      side.joined_until = end[i];
    } else {
      side.position = end[i];
    }
  }
  bool done = true;
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    const bool kept = region_->kept == static_cast<JoinSide>(i);
    done = done && (kept || sides_[i].position == region_->end[i]);
  }
  if (done) region_.reset();
  piece->list = lists_.back();
  lists_.pop_back();
  pieces_.push_back(std::move(piece));
  match(*pieces_.back());
  return true;
}

void StreamJoiner::match(JoinPiece& piece) {
  ++running_;
  run_task(context_.workers, context_.mailbox, in_flight_, [this, &piece](unsigned) {
    const MatchTotals totals =
        matcher_->match(piece.records[kR], piece.records[kS], piece.list, piece.matches);
    std::array<MultisetHash, kJoinSides> hashes;
    for (std::size_t i = 0; i < kJoinSides; ++i) {
      if (piece.kept != static_cast<JoinSide>(i)) piece.records[i].add_to(hashes[i]);
    }
    context_.mailbox.post([this, &piece, totals, hashes] {
      --running_;
      piece.matched = true;
      piece.rows_left = context_.output != nullptr ? totals.rows : 0;
      rows_ += totals.rows;
      const std::array<std::uint64_t, kJoinSides> matched = {totals.matched_r, totals.matched_s};
      for (std::size_t i = 0; i < kJoinSides; ++i) {
        if (piece.kept != static_cast<JoinSide>(i)) sides_[i].matched += matched[i];
        sides_[i].hash += hashes[i];
      }
      finish_pieces();
    });
  });
}

// Passes the next `rows` rows of the piece.
void StreamJoiner::take_rows(JoinPiece& piece, std::uint64_t rows) {
  piece.rows_left -= rows;
  if (piece.rows_left == 0) return;
  while (rows > 0) {
    const std::uint64_t in_match = piece.list[piece.at_match].row_count() - piece.at_row;
    const std::uint64_t taken = std::min(rows, in_match);
    rows -= taken;
    piece.at_row += taken;
    if (taken == in_match) {
      ++piece.at_match;
      piece.at_row = 0;
    }
  }
}

void StreamJoiner::write_parts() {
  output_full_ = false;
  for (const auto& next : pieces_) {
    JoinPiece& piece = *next;
    if (!piece.matched) return;
    while (piece.rows_left > 0) {
      if (running_ >= 2 * kTasksRunning * context_.workers.width()) return;
      const std::uint64_t most = context_.part_bytes / context_.rows.row_bytes();
      const auto rows = static_cast<std::size_t>(std::min(most, piece.rows_left));
      const std::size_t bytes = rows * context_.rows.row_bytes();
      auto place = context_.output->admit(bytes);
      output_full_ = !place;
      if (!place) return;
      const std::size_t match = piece.at_match;
      const std::uint64_t row = piece.at_row;
      take_rows(piece, rows);
      ++piece.parts;
      ++running_;
      run_task(context_.workers, context_.mailbox, in_flight_,
               [this, &piece, match, row, rows, place = std::move(*place)](unsigned) mutable {
                 context_.output->emit(
                     place, MergedRows(context_.rows, piece.records,
                                       piece.list.first(piece.matches), match, row, rows));
                 context_.mailbox.post([this, &piece] {
                   --running_;
                   --piece.parts;
                   finish_pieces();
                 });
               });
    }
  }
}

void StreamJoiner::finish_pieces() {
  while (!pieces_.empty()) {
    const JoinPiece& piece = *pieces_.front();
    if (!piece.matched || piece.rows_left > 0 || piece.parts > 0) break;
    lists_.push_back(piece.list);
    pieces_.pop_front();
  }
  release(JoinSide::r);
  release(JoinSide::s);
}

// ---- groups larger than memory ----

void StreamJoiner::spill_group() {
  // Semi and anti joins have released S's; anything but an incomplete group is a region.
  if (!keeps_pairs(context_.kind)) return;
  const SideStream& s = sides_[kS];
  XXL_CHECK(!sides_[kR].empty() && !s.empty());
  const std::byte* const first = record(s, s.position);
  group_record_.assign(first, first + s.layout->record_bytes());
  group_records_ = 0;
  mode_ = Mode::gathering;
}

void StreamJoiner::gather() {
  SideStream& s = sides_[kS];
  const std::uint64_t end = upper_bound(s, s.available, s, group_record_.data());
  RecordSequence records(s.layout->record_bytes());
  take(s, end, records);
  for (std::size_t at = 0; context_.output != nullptr && at < records.size();) {
    std::size_t count;
    const std::byte* record = records.at(at, count);
    at += count;
    for (; count > 0; --count, record += records.record_bytes()) {
      context_.rows.write_part(record, context_.row_memory.data());
      context_.group_store.append(std::string_view(
          reinterpret_cast<const char*>(context_.row_memory.data()), context_.rows.part_bytes()));
    }
  }
  group_records_ += records.size();
  retire(s, end);
  release(JoinSide::s);
  if (s.empty() && !s.ended) return;
  mode_ = Mode::product;
}

void StreamJoiner::produce() {
  SideStream& r = sides_[kR];
  const SideStream& s = sides_[kS];
  const std::size_t row_bytes = context_.rows.row_bytes();
  const std::size_t most = context_.part_bytes / row_bytes * row_bytes;
  const std::uint64_t end = upper_bound(r, r.available, s, group_record_.data());
  rows_ += (end - r.position) * group_records_;
  std::size_t used = 0;
  for (std::uint64_t i = r.position; context_.output != nullptr && i < end; ++i) {
    const std::byte* const left = record(r, i);
    context_.group_store.for_each([&](std::string_view part) {
      context_.rows.write_with_part(left, reinterpret_cast<const std::byte*>(part.data()),
                                    context_.row_memory.data() + used);
      used += row_bytes;
      if (used == most) write_rows(std::exchange(used, 0));
    });
  }
  if (used > 0) write_rows(used);
  retire(r, end);
  release(JoinSide::r);
  if (r.empty() && !r.ended) return;
  context_.group_store.clear();
  mode_ = Mode::regions;
}

// Writes the rows in row_memory, waiting until the output has room for them: nothing else is done
// meanwhile.
void StreamJoiner::write_rows(std::size_t bytes) {
  std::optional<OutputStage::Admission> place;
  while (!(place = context_.output->admit(bytes))) context_.mailbox.wait_and_run();
  context_.output->emit(std::move(*place),
                        FinishedRows(context_.row_memory.first(bytes), context_.rows.row_bytes()));
}

}  // namespace xxl
