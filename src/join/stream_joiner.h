// Joins two sorted streams of binary records that arrive block by block, on all cores. See
// docs/internals/joining.md.
//
// What lies below the bound, the smaller of the last keys that have arrived, is a region that can
// be joined whatever comes later. It is cut into pieces that never split a group; a worker matches
// a piece (record_matcher.h), its rows are reserved in the output in order, and workers write them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/checksum.h"
#include "base/in_flight.h"
#include "base/mailbox.h"
#include "base/workers.h"
#include "join/group_store.h"
#include "join/join_kind.h"
#include "join/output_layout.h"
#include "join/record_matcher.h"
#include "record/key_layout.h"
#include "run/output_stage.h"
#include "sort/segment.h"

namespace xxl {

// The context of a join. References, pointers and memory must outlive it.
struct StreamJoinContext {
  std::array<const KeyLayout*, kJoinSides> layouts;  // of comparable keys
  JoinKind kind;
  const RowLayout& rows;
  OutputStage* output;  // of rows; null: rows are only counted
  Workers& workers;
  Mailbox& mailbox;
  GroupStore& group_store;           // for a group of S that is larger than memory
  std::span<std::byte> row_memory;   // rows of such a group, part_bytes of them at least
  std::span<std::byte> list_memory;  // lists of matches: a piece needs list_bytes()
  std::size_t piece_records;         // of both sides together
  std::size_t part_bytes;            // of rows whose places are reserved at once; at least a row
};

// Coordinator thread only.
class StreamJoiner {
 public:
  // Whole records. `release` is called when they are no longer needed.
  struct SideBlock {
    Segment records;
    std::function<void()> release;
  };

  explicit StreamJoiner(const StreamJoinContext& context);

  static std::size_t list_bytes(std::size_t piece_records);

  // The next block of a side, in order of its keys.
  void add(JoinSide side, SideBlock block);
  // No more of it will come.
  void end(JoinSide side) { side_of(side).ended = true; }

  // Does what can be done now without waiting.
  void pump();
  // When pump() has nothing to do, nothing is under way (idle()), and no more blocks come because
  // memory is full: makes room, so that more can come.
  void break_stall();
  bool idle() const { return running_ == 0; }
  bool waits_for_output() const { return output_full_; }
  // True when all rows have left through the output stage.
  bool finished() const;

  // Grows whenever records arrive or are released.
  std::uint64_t progress() const {
    return sides_[0].available + sides_[0].position + sides_[1].available + sides_[1].position;
  }

  std::uint64_t rows() const { return rows_; }
  std::uint64_t matched(JoinSide side) const { return side_of(side).matched; }
  // Of the records that have been joined: every one once.
  const MultisetHash& hash(JoinSide side) const { return side_of(side).hash; }

 private:
  struct Held {
    SideBlock block;
    std::uint64_t first = 0;  // number of its first record
  };
  struct SideStream {
    const KeyLayout* layout = nullptr;
    std::deque<Held> blocks;
    std::uint64_t available = 0;  // records that have arrived
    std::uint64_t position = 0;   // the first record that no piece has taken
    // Records before this one were joined with a part of the other side's group, and are kept for
    // the rest of it.
    std::uint64_t joined_until = 0;
    bool ended = false;
    std::uint64_t matched = 0;
    MultisetHash hash;

    bool empty() const { return position == available; }
    std::uint64_t left() const { return available - position; }
  };
  // What may be joined, from the positions of both sides.
  struct Region {
    std::array<std::uint64_t, kJoinSides> end{};
    std::optional<JoinSide> kept;  // a whole group of this side is needed again
  };
  struct JoinPiece {
    explicit JoinPiece(const StreamJoinContext& context)
        : records{RecordSequence(context.layouts[0]->record_bytes()),
                  RecordSequence(context.layouts[1]->record_bytes())} {}
    std::array<std::uint64_t, kJoinSides> begin{};
    std::array<RecordSequence, kJoinSides> records;
    std::optional<JoinSide> kept;
    std::span<Match> list;  // memory for matches
    std::size_t matches = 0;
    bool matched = false;
    std::uint64_t rows_left = 0;  // whose places are not reserved
    std::size_t at_match = 0;     // where they begin
    std::uint64_t at_row = 0;     // of that match
    std::size_t parts = 0;        // being written
  };
  enum class Mode {
    regions,    // the normal way
    gathering,  // the parts of a large group's S's go to the group store
    product,    // R's part passes by it
  };

  SideStream& side_of(JoinSide side) { return sides_[static_cast<std::size_t>(side)]; }
  const SideStream& side_of(JoinSide side) const { return sides_[static_cast<std::size_t>(side)]; }
  const std::byte* record(const SideStream& side, std::uint64_t index) const;
  std::deque<Held>::const_iterator holder(const SideStream& side, std::uint64_t index) const;
  std::uint64_t bound(const SideStream& side, std::uint64_t high, const SideStream& other,
                      const std::byte* key, bool behind_equal) const;
  std::uint64_t lower_bound(const SideStream& side, std::uint64_t high, const SideStream& other,
                            const std::byte* key) const {
    return bound(side, high, other, key, false);
  }
  std::uint64_t upper_bound(const SideStream& side, std::uint64_t high, const SideStream& other,
                            const std::byte* key) const {
    return bound(side, high, other, key, true);
  }

  void retire(SideStream& side, std::uint64_t end);
  void retire_joined();
  std::uint64_t limit(const SideStream& side, const SideStream& other) const;
  bool plan_region(bool must);
  bool plan_group(bool must);
  void cut(std::array<std::uint64_t, kJoinSides>& end) const;
  bool start_piece();
  void take(SideStream& side, std::uint64_t end, RecordSequence& records) const;
  void match(JoinPiece& piece);
  void write_parts();
  void take_rows(JoinPiece& piece, std::uint64_t rows);
  void finish_pieces();
  void release(JoinSide side);

  void spill_group();
  void gather();
  void produce();
  void write_rows(std::size_t bytes);

  const StreamJoinContext context_;
  std::unique_ptr<RecordMatcher> matcher_;
  std::array<SideStream, kJoinSides> sides_;
  std::optional<Region> region_;
  std::vector<std::span<Match>> lists_;            // free
  std::deque<std::unique_ptr<JoinPiece>> pieces_;  // in order
  std::size_t running_ = 0;                        // tasks
  bool output_full_ = false;
  std::uint64_t rows_ = 0;

  Mode mode_ = Mode::regions;
  std::vector<std::byte> group_record_;  // of S, with the key of the large group
  std::uint64_t group_records_ = 0;      // S's part
  InFlight in_flight_;
};

}  // namespace xxl
