// One input of a general join: sorted to runs, or read as it is if it is in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/memory_region.h"
#include "base/monitor.h"
#include "base/workers.h"
#include "io/io_queue.h"
#include "job/general_sort/general_formation.h"
#include "job/general_sort/general_memory.h"
#include "job/general_sort/lazy_scratch.h"
#include "job/general_sort/run_reducer.h"
#include "job/inputs.h"
#include "job/join/file_chain.h"
#include "job/join/general_join_options.h"
#include "join/general_joiner.h"
#include "join/join_kind.h"
#include "merge/general_merger.h"
#include "merge/run_cursor.h"
#include "record/record_lengths.h"

namespace xxl {

class GeneralJoinSide {
 public:
  // `inputs`: the files of the input. `options` must outlive it.
  GeneralJoinSide(const GeneralJoinOptions& options, JoinSide side, Inputs inputs);

  bool is_presorted() const { return presorted_; }
  const Inputs& inputs() const { return inputs_; }
  const std::string& path() const { return inputs_.files[0].path(); }

  // Plans its part of the memory, for as many threads as it allows, at most `input.threads`. Takes
  // none yet. Throws Error{no_space}. Not for an input that is sorted already, which needs only
  // buffers: see read().
  void plan(const GeneralPlanInput& input, Monitor& monitor);
  GeneralMemory& memory() { return *memory_; }
  const GeneralMemory& memory() const { return *memory_; }

  // Must be called before what follows. The references must outlive it.
  void start(io::IoService& io, Workers& workers, Monitor& monitor);

  // Sorts the input to runs.
  void form_runs();
  // The runs, as few as may take `most_bytes` of `blocks` at once, two blocks each.
  void reduce(BlockMemory& blocks, std::size_t most_bytes);
  const std::vector<MergeSource>& sources() const { return sources_; }
  std::vector<std::span<std::byte>> free_memory() const { return formation_->free_memory(); }
  // All records in order, from the runs.
  std::unique_ptr<RecordCursor> merge(BlockMemory& blocks);

  // All records of an input that is sorted already, read through `memory`; takes the header.
  // Records that lie in several buffers take up `budget` (file_cursor.h).
  FileChain& read(std::span<std::byte> memory, std::size_t& budget);

  // The longest records, as far as they are known: of files that are read again, and of runs; of
  // `longest` bytes in what cannot be read again. To say how much memory would be enough.
  RecordLengths::Longest longest_records(std::size_t longest);

  // Known once runs are formed, or the first record was read:
  const KeyExtractor& keys() const { return *keys_; }
  const std::optional<std::string>& header() const { return header_; }

  // Of the records that were read.
  const MultisetHash& hash() const { return formation_ ? formation_->input_hash() : hash_; }
  RowFaultLog& row_faults() { return row_faults_; }
  const RowFaultLog& row_faults() const { return row_faults_; }
  std::uint64_t record_bytes() const { return formation_->record_bytes(); }
  std::uint64_t runs() const { return formed_runs_; }
  unsigned passes() const { return formation_ ? formation_->reducer().passes() : 0; }
  LazyScratch& scratch() { return *scratch_; }

 private:
  void take_header(std::size_t file, std::string_view header);

  const GeneralJoinOptions& join_;
  std::size_t index_;
  bool presorted_;
  GeneralSortOptions options_;  // of its sort
  Inputs inputs_;
  std::shared_ptr<const KeyExtractor> keys_;  // null until the header says which
  std::optional<std::string> header_;
  io::IoService* io_ = nullptr;
  Workers* workers_ = nullptr;
  Monitor* monitor_ = nullptr;
  std::unique_ptr<GeneralMemory> memory_;
  std::unique_ptr<LazyScratch> scratch_;
  std::unique_ptr<GeneralFormation> formation_;
  std::vector<std::unique_ptr<GeneralRun>> runs_;
  std::vector<MergeSource> sources_;
  std::uint64_t formed_runs_ = 0;
  MultisetHash hash_;
  RowFaultLog row_faults_{options_};
  std::unique_ptr<FileChain> chain_;
};

// Opens the input. Throws Error.
Inputs open_side(const GeneralJoinOptions& options, JoinSide side);

}  // namespace xxl
