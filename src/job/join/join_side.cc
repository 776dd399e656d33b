#include "job/join/join_side.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "job/general_sort/long_records.h"
#include "job/general_sort/shared_job.h"
#include "record/descending_record.h"

namespace xxl {
namespace {

GeneralSortOptions sort_options(const GeneralJoinOptions& join, std::size_t side) {
  GeneralSortOptions sort;
  static_cast<JobOptions&>(sort) = join;
  sort.acceleration = Acceleration::never;
  static_cast<RecordRules&>(sort) = join.rules[side];
  static_cast<RejectOptions&>(sort) = join;
  if (join.syntax.header) sort.first_record = nullptr;  // take_header() gives it the header
  sort.syntax = join.input_syntax(side);
  sort.inputs = {join.inputs[side]};
  sort.compressed_by_suffix = join.compressed_by_suffix;
  sort.shared = join.shared;
  sort.most_input_bytes = join.shared_bytes[side];
  return sort;
}

// For a side without a header, which has no records either.
std::shared_ptr<const KeyExtractor> any_keys() {
  return std::make_shared<DescendingRecord>();
}

}  // namespace

Inputs open_side(const GeneralJoinOptions& options, JoinSide side) {
  const auto index = static_cast<std::size_t>(side);
  if (options.input_callers[index] != nullptr) {
    return input_of_caller(*options.input_callers[index], options.inputs[index]);
  }
  return open_general_inputs({options.inputs[index]}, options.input_syntax(index),
                             options.compressed_by_suffix);
}

GeneralJoinSide::GeneralJoinSide(const GeneralJoinOptions& options, JoinSide side, Inputs inputs)
    : join_(options),
      index_(static_cast<std::size_t>(side)),
      presorted_(options.presorted[index_]),
      options_(sort_options(options, index_)),
      inputs_(std::move(inputs)),
      keys_(options_.keys) {}

void GeneralJoinSide::plan(const GeneralPlanInput& input, Monitor& monitor) {
  memory_ = std::make_unique<GeneralMemory>(input, monitor);
}

void GeneralJoinSide::start(io::IoService& io, Workers& workers, Monitor& monitor) {
  io_ = &io;
  workers_ = &workers;
  monitor_ = &monitor;
  if (memory_ != nullptr) {
    scratch_ = std::make_unique<LazyScratch>(options_, *memory_, io, monitor);
  }
}

void GeneralJoinSide::take_header(std::size_t file, std::string_view header) {
  if (header_ || index_ != 0) {
    row_faults_.drop_comments(count_comments(header, join_.syntax.fields));
  }
  if (header_) {
    if (join_.syntax.rows ? have_same_names(*header_, header, join_.syntax.fields)
                          : *header_ == header) {
      return;
    }
    throw Error(ErrorCode::bad_input, "the header is not that of the part before",
                inputs_.files[file].path(), 0);
  }
  header_ = std::string(header);
  const RecordRules& rules = join_.rules[index_];
  if (rules.first_record) rules.first_record(header);
  if (rules.keys_of_header) {
    keys_ = rules.keys_of_header(join_.syntax.rows ? without_line_end(header) : header);
  }
}

void GeneralJoinSide::form_runs() {
  if (join_.shared != nullptr) {
    if (const auto& header = join_.shared->header(index_)) take_header(0, *header);
  }
  formation_ = std::make_unique<GeneralFormation>(FormationContext{
      options_, inputs_, *monitor_, *workers_, *io_, *memory_, *scratch_, nullptr, row_faults_,
      [this](std::size_t file, std::string_view header) { take_header(file, header); },
      [this]() -> const KeyExtractor& { return *keys_; }});
  formation_->run();
  if (keys_ == nullptr) keys_ = any_keys();
  sources_ = formation_->sources();
  for (MergeSource& source : sources_) source.side = index_;
  runs_ = formation_->take_runs();
  formed_runs_ = sources_.size();
}

void GeneralJoinSide::reduce(BlockMemory& blocks, std::size_t most_bytes) {
  sources_ = formation_->reducer().reduce(std::move(sources_), blocks, most_bytes);
}

RecordLengths::Longest GeneralJoinSide::longest_records(std::size_t longest) {
  chain_.reset();  // reads no more
  RecordLengths lengths(options_.syntax);
  for (io::File& file : inputs_.files) {
    if (!file.seekable()) lengths.add_record(longest);
    for (const std::uint64_t bytes : longest_of(file, options_.syntax, options_.stop)) {
      lengths.add_record(bytes);
    }
  }
  // Runs have the same records, and those that lie too far behind in files.
  RecordLengths of_runs({});
  for (const MergeSource& source : sources_) {
    if (source.run != nullptr) of_runs.add_record(source.run->largest_block);
  }
  RecordLengths::Longest all = lengths.longest();
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], of_runs.longest()[i]);
  return all;
}

std::unique_ptr<RecordCursor> GeneralJoinSide::merge(BlockMemory& blocks) {
  return std::make_unique<MergedRecords>(
      RecordMerge(cursors_of(sources_, scratch_->opened(), blocks), *keys_, false));
}

FileChain& GeneralJoinSide::read(std::span<std::byte> memory, std::size_t& budget) {
  FileChain::OnHeader on_header;
  if (join_.syntax.header) {
    on_header = [this](std::size_t file, std::string_view header) { take_header(file, header); };
  }
  chain_ = std::make_unique<FileChain>(
      inputs_,
      [this, memory, &budget](io::File& file) {
        return std::make_unique<FileCursor>(file, options_, memory, budget, *io_, *monitor_, hash_,
                                            row_faults_,
                                            static_cast<std::size_t>(&file - inputs_.files.data()));
      },
      std::move(on_header));
  if (keys_ == nullptr) keys_ = any_keys();
  return *chain_;
}

}  // namespace xxl
