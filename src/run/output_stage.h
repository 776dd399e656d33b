// Turns sorted pieces, made by many workers at once, into one stream of full blocks.
//
// Pieces leave in the order in which they were admitted. Where the rules leave nothing out, the
// stretch of the stream that a piece fills is known when it is admitted, and no worker waits for
// another: some thousand waits a second, each for a thread to be woken, would hold up many workers.
// Otherwise a worker that has sorted its piece waits for its turn to reserve a stretch; it then
// fills that stretch while others fill theirs.
//
//     stream   |  block 7          |  block 8          |  block 9
//     pieces   ....][ piece 41    ][ piece 42 ][ piece 43       ][...
//
// The worker that fills the last byte of a block gives it to the sink. If the output is cut into
// parts, the zeros between two parts are filled with the piece behind them. Where parts have a key,
// a piece keeps its turn until it is written: its records say where parts begin. Where all of its
// records are known, pieces may come in any order, so that several parts are written at a time:
// parts begin at blocks then, and the blocks that are open are some of each.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/mailbox.h"
#include "base/turns.h"
#include "io/buffer_pool.h"
#include "record/key_layout.h"
#include "record/record_fold.h"
#include "run/block_sink.h"
#include "run/output_parts.h"
#include "sort/piece_sorter.h"

namespace xxl {

class FoldedPiece;

// What becomes of the records of sorted pieces.
struct OutputRules {
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  bool unique = false;  // a piece's first record is left out if its key was there before
  std::optional<FoldRules> fold{};  // in place of `unique`: groups become one record each
  std::uint64_t skip = 0;           // of those, the first ones are left out
  std::uint64_t limit = kNoLimit;   // only so many records are written
  bool hash_output = true;          // keep a multiset hash of what is written
  OutputParts* parts = nullptr;     // where it is cut; null: nowhere. Must outlive the stage
  // With parts, and without all of the above: pieces come in any order, of so many records in all.
  std::uint64_t any_order = 0;
};

class OutputStage {
  struct OutputBlock {
    std::byte* buffer;
    std::uint64_t index;
    std::size_t bytes;  // when it is full
    std::atomic<std::size_t> filled{0};
    OutputBlock(std::byte* b, std::uint64_t i, std::size_t n) : buffer(b), index(i), bytes(n) {}
  };
  // Of which not all is reserved yet.
  struct OpenBlock {
    std::shared_ptr<OutputBlock> block;
    std::size_t reserved = 0;
  };
  struct Span {
    std::shared_ptr<OutputBlock> block;
    std::byte* data;
    std::size_t bytes;
    bool is_gap = false;  // zeros before a part
  };

 public:
  // The place of a piece in the stream.
  class Admission {
    friend class OutputStage;
    std::optional<Ticket> ticket;  // of a turn that is not over
    std::size_t record_bytes = 0;  // of the piece, at most
    std::size_t admitted = 0;      // the same with room for gaps
    std::size_t skipped = 0;       // records, if that is known already
    std::vector<Span> spans;       // if it is reserved already
  };

  // All references must outlive the stage. `layout`: of the records that come.
  OutputStage(const KeyLayout& layout, const OutputRules& rules, io::BufferPool& buffers,
              BlockSink& sink, Mailbox& mailbox);
  ~OutputStage();

  // --- coordinator ---

  // Of a record that leaves.
  std::size_t record_bytes() const { return record_bytes_; }
  // Sets buffers aside for the next piece, of `bytes` (so many records of record_bytes()), or up to
  // that if the rules leave some out; nothing when there are not enough now. `first`: if pieces
  // come in any order, the number of its first record in the stream.
  std::optional<Admission> admit(std::size_t bytes, std::uint64_t first = 0);
  // Gives the last, partial block to the sink. All admitted pieces must have been emitted.
  void finish();
  std::uint64_t records() const {
    std::lock_guard lock(mutex_);
    return bytes_ / record_bytes_;
  }
  // True when no more records will be written. From any thread.
  bool full() const { return records() >= rules_.limit; }
  // Of what was written, if asked for, and of what was left out for `unique` and `skip`: with a
  // fold, that of the records that came less that of those written.
  const MultisetHash& hash() const { return hash_; }
  const MultisetHash& removed() const { return removed_; }
  // With a fold: of the records written, the sum of their counts, and whether some that are not
  // whole groups stand beside others of the same key.
  std::uint64_t records_folded() const { return records_folded_; }
  bool has_parted() const { return has_parted_; }

  // --- workers ---

  // Emits the records that make() gives at `place`. Every piece that was admitted must come, one
  // that fails as well: what make() throws is passed on, and those of later places do not wait.
  template <class Make>
  requires std::is_invocable_v<Make&>
  void emit(Admission place, Make&& make) {
    try {
      const RecordSource& records = make();
      write(place, records);
    } catch (...) {
      give_up(place);
      throw;
    }
  }
  void emit(Admission place, const RecordSource& records) {
    emit(std::move(place), [&]() -> const RecordSource& { return records; });
  }

 private:
  // What a piece will write is known before it is sorted.
  bool is_foreseen() const {
    return !rules_.unique && !rules_.fold && rules_.limit == rules_.kNoLimit && !has_key_of_parts();
  }
  bool has_key_of_parts() const { return rules_.parts != nullptr && rules_.parts->have_key(); }
  void write(Admission& place, const RecordSource& source);
  void write_in_turn(Admission& place, const RecordSource& source);
  void write_folds(Admission& place, const RecordSource& source);
  void give_up(Admission& place) noexcept;
  void end_turn(Admission& place);
  void write_rest(Admission& place, const RecordSource& source, std::size_t first);
  void write_by_key(std::size_t admitted, const RecordSource& source, std::size_t first);
  void count_folded(const FoldedPiece& piece);
  void finish_folding();
  std::vector<Span> reserve_in_turn(std::size_t admitted, std::size_t records,
                                    std::size_t& skipped);
  std::vector<Span> reserve_locked(std::size_t admitted, std::size_t bytes);
  std::optional<Admission> admit_anywhere(std::size_t bytes, std::uint64_t first);
  bool set_aside(std::size_t blocks);
  void append_spans(std::size_t bytes, bool is_gap, std::vector<Span>& spans);
  void append_spans(std::uint64_t at, std::size_t bytes, std::uint64_t end, bool is_gap,
                    std::vector<Span>& spans);
  std::size_t most_gap_bytes(std::size_t bytes) const;
  std::size_t skip_duplicate(const RecordSource& source);
  std::size_t take_skipped(std::size_t records);
  void pass_over(const RecordSource& source, std::size_t first, std::size_t count);
  void fill(const std::vector<Span>& spans, const RecordSource& source, std::size_t next);
  void commit(const Span& span);
  void finish_block(const OutputBlock& block, std::size_t bytes);

  const KeyLayout& layout_;
  io::BufferPool& buffers_;
  BlockSink& sink_;
  Mailbox& mailbox_;
  const OutputRules rules_;
  const std::size_t record_bytes_;
  const std::size_t payload_bytes_;

  mutable std::mutex mutex_;                        // of what follows
  std::vector<std::byte*> ready_;                   // empty buffers set aside
  std::size_t admitted_ = 0;                        // bytes admitted and not yet reserved
  std::map<std::uint64_t, OpenBlock> open_blocks_;  // by index
  std::uint64_t end_ = 0;    // of the stream so far, unless pieces come in any order
  std::uint64_t bytes_ = 0;  // of records
  std::uint64_t skip_left_;  // records still to be left out
  MultisetHash hash_;
  MultisetHash removed_;
  std::uint64_t records_folded_ = 0;
  bool has_parted_ = false;

  std::vector<OutputParts::PartPlace> places_;  // if pieces come in any order

  Ticket next_ticket_{};  // coordinator only
  Turns turns_;
  std::vector<std::byte> last_;  // the last record of the piece before; `unique`, guarded by turns_
  // The last group of the pieces before, which the next may go on with; guarded by turns_. Room for
  // its record stays admitted.
  std::optional<RecordGroup> open_;
};

}  // namespace xxl
