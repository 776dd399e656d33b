// Looks up the records of one input in the table of the other, and writes the rows.
//
// Records come in blocks, in order. A block is cut into morsels; for each a worker lists the
// matches, so that the number of its rows is known before any is written. Morsels leave in order:
// when room for the rows of the next one has been set aside in the output, a worker writes them
// while others list and write other morsels.
//
//     morsel      41         42         43         44
//                  writing    writing    listed     being listed
//                                        waits for room in the output
//
// A list has a limit. Where a morsel has more matches, it is continued in another list when its
// turn has come, so any number of matches passes through the same memory. Its first list is then on
// its way to the output and comes back whatever happens after it, so a list always becomes free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/in_flight.h"
#include "base/mailbox.h"
#include "base/workers.h"
#include "engine/phase_meter.h"
#include "io/sequential_reader.h"
#include "join/hash_table.h"
#include "join/output_layout.h"
#include "run/output_stage.h"

namespace xxl {

// The two sides of a hash join.
struct HashSides {
  JoinSide build = JoinSide::r;
  const std::byte* build_records = nullptr;
  std::size_t build_record_bytes = 0;
  std::size_t probe_record_bytes = 0;

  // The records of a row.
  RowRecords records_of(const HashMatch& match, const std::byte* probe_records) const {
    const std::byte* in_table = match.build == HashMatch::kNone
                                    ? nullptr
                                    : build_records + match.build * build_record_bytes;
    const std::byte* probing = match.probe == HashMatch::kNone
                                   ? nullptr
                                   : probe_records + match.probe * probe_record_bytes;
    return build == JoinSide::r ? RowRecords{in_table, probing} : RowRecords{probing, in_table};
  }
};

// Coordinator thread only.
class HashProbe {
 public:
  struct Context {
    HashTable& table;
    const HashSides& sides;
    const RowLayout& rows;
    Workers& workers;
    Mailbox& mailbox;
    PhaseMeter& meter;
    OutputStage* output;         // null: rows are only counted
    std::span<HashMatch> lists;  // memory for them
    std::size_t list_matches;    // number, in each
  };

  // All of `context` must outlive it.
  explicit HashProbe(const Context& context);

  // Looks up all records of `reader`, and has the rows that `wants` asks for written.
  WaitTimes probe(io::SequentialReader& reader, const ProbeWants& wants);
  // Writes a row for each of the first `records` records of the table that has been matched (or has
  // not), in their order. After HashTable::settle().
  WaitTimes write_build_side(bool matched, std::size_t records);

  std::uint64_t probed() const { return probed_; }    // records
  std::uint64_t matched() const { return matched_; }  // of them, with a partner
  std::uint64_t rows() const { return rows_; }        // that were listed

 private:
  // A block of the reader.
  struct ProbeBlock {
    io::RecordBlock block;
    std::size_t records = 0;
    std::size_t cut = 0;   // of them, in morsels
    std::size_t uses = 0;  // morsels that have not been written
  };
  // Consecutive records of a block or of the table.
  struct Morsel {
    ProbeBlock* block = nullptr;  // null: in the table
    std::size_t first = 0;
    std::size_t records = 0;
    ProbeProgress progress;
    HashMatch* list = nullptr;
    std::uint64_t listed = 0;
    bool ready = false;  // all is listed, or the list is full
  };
  using MorselPointer = std::shared_ptr<Morsel>;  // a task that runs holds one too
  // Lists matches of a morsel from its progress on; any thread.
  using Lister = std::function<std::size_t(Morsel& morsel, std::span<HashMatch> out)>;
  // The next morsel; null if there is none now.
  using Source = std::function<MorselPointer()>;

  WaitTimes run(const Lister& lister, const Source& next, const std::function<bool()>& ended);
  MorselPointer cut_block(io::SequentialReader& reader);
  void release(io::SequentialReader& reader);
  std::size_t morsel_records() const;
  void start_listing(const MorselPointer& morsel);
  void write_ready();
  void start_writing(const MorselPointer& morsel);
  void done_with(const Morsel& morsel);
  const std::byte* records_of(const Morsel& morsel) const;

  const Context c_;
  Lister lister_;
  std::deque<std::unique_ptr<ProbeBlock>> blocks_;
  std::deque<MorselPointer> morsels_;  // in order, those that are not being written
  std::vector<HashMatch*> free_lists_;
  Ticket tickets_{};
  std::size_t running_ = 0;  // tasks
  bool output_full_ = false;
  std::uint64_t probed_ = 0;
  std::uint64_t matched_ = 0;
  std::uint64_t rows_ = 0;
  InFlight in_flight_;
};

}  // namespace xxl
