// Looks up the records of one input in the table of the other, and writes the rows.
//
// Records come in pieces, the morsels; for each a worker lists the matches, so that the number of
// its rows is known before any is written. Morsels leave in order: when room for the rows of the
// next one has been set aside in the output, a worker writes them while others list and write other
// morsels.
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
#include "job/join/probe_input.h"
#include "job/phase_meter.h"
#include "join/hash_table.h"
#include "join/output_layout.h"
#include "run/output_stage.h"

namespace xxl {

// The two sides of a hash join.
struct HashSides {
  JoinSide build = JoinSide::r;
  const HashTable* table = nullptr;
  std::size_t probe_record_bytes = 0;

  // The records of a row.
  RowRecords records_of(const HashMatch& match, const std::byte* probe_records) const {
    const std::byte* in_table =
        match.build == HashMatch::kNone ? nullptr : table->record(match.build);
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

  // Looks up all records of `input`, and has the rows that `wants` asks for written.
  WaitTimes probe(ProbeInput& input, const ProbeWants& wants);
  // Writes a row for each record of the table that has been matched (or has not), in the order of
  // `numbers`.
  WaitTimes write_build_side(bool matched, std::span<const RecordNumbers> numbers);

  std::uint64_t probed() const { return probed_; }    // records
  std::uint64_t matched() const { return matched_; }  // of them, with a partner
  std::uint64_t rows() const { return rows_; }        // that were listed

 private:
  // Consecutive records of the input or of the table.
  struct Morsel {
    ProbeInput::Records piece;  // no records: in the table
    std::size_t first = 0;      // there: its first number
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

  WaitTimes run(const Lister& lister, const Source& next, ProbeInput* input);
  std::size_t morsel_records() const;
  void start_listing(const MorselPointer& morsel);
  void write_ready();
  void start_writing(const MorselPointer& morsel, OutputStage::Admission place);
  void done_with(const Morsel& morsel);

  const Context c_;
  Lister lister_;
  ProbeInput* input_ = nullptr;        // null: records of the table
  std::deque<MorselPointer> morsels_;  // in order, those that are not being written
  std::vector<HashMatch*> free_lists_;
  std::size_t running_ = 0;  // tasks
  bool output_full_ = false;
  std::uint64_t probed_ = 0;
  std::uint64_t matched_ = 0;
  std::uint64_t rows_ = 0;
  InFlight in_flight_;
};

}  // namespace xxl
