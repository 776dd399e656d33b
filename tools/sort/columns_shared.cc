#include "sort/columns_shared.h"
#include "record/csv_spec.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/machine_limits.h"
#include "base/units.h"
#include "callers/shared_resources.h"
#include "columns/column_parts.h"
#include "columns/files/input_names.h"
#include "columns/files/load_module.h"
#include "io/read_back.h"
#include "job/job_io.h"
#include "job/join/counted_first.h"
#include "job/output.h"
#include "job/part_directory.h"
#include "job/phase_meter.h"
#include "job/result_range.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

using module_table::Format;

constexpr std::uint64_t kMostLevel = 100;  // of compression: the module knows each method's own
// The number that readers of Parquet expect, and that Arrow's writers make.
constexpr std::uint64_t kRowGroupRows = std::uint64_t{1} << 20;

const char* format_text(Format format) {
  switch (format) {
    case Format::parquet:
      return "parquet";
    case Format::ipc_file:
      return "arrow file";
    case Format::ipc_stream:
      return "arrow stream";
  }
  return "";
}

// The format of the files of --record.
Format column_format(std::string_view record) {
  return record == "parquet" ? Format::parquet : Format::ipc_file;
}

// Throws Error{usage} unless files of `format` can be compressed so.
ColumnCompression compression_option(const ParsedOptions& options, Format format) {
  ColumnCompression compression;
  compression.text = options.value("compression", format == Format::parquet ? "zstd" : "none");
  compression.method = compression.text.substr(0, compression.text.find(':'));
  if (compression.method != compression.text) {
    const std::string level = compression.text.substr(compression.method.size() + 1);
    compression.level = static_cast<int>(parse_number(level, "--compression", 1, kMostLevel));
  }
  module_table::Failure failure{};
  if (!load_arrow_module().check_compression(format, compression.method.c_str(), compression.level,
                                             &failure)) {
    throw_failure(failure);
  }
  return compression;
}

// Throws Error{corrupt} if rows that the source has were not read.
void check_rows_read(const module_table::SourceFacts& facts) {
  const std::uint64_t rows = facts.rows - facts.rows_left_out;
  if (facts.rows_known == 0 || facts.rows_read == rows) return;
  throw Error(ErrorCode::corrupt,
              std::to_string(facts.rows_read) + " rows were read of " + std::to_string(rows));
}

// The number of rows of a join, which are not kept. Throws Error{io} with the stream's message.
std::uint64_t count_rows(ArrowArrayStream* rows) {
  for (std::uint64_t counted = 0;;) {
    ArrowArray batch{};
    const int error = rows->get_next(rows, &batch);
    if (error != 0) {
      const char* text = rows->get_last_error(rows);
      throw Error(ErrorCode::io, text != nullptr ? text : "the join failed", {}, Error::kNoOffset,
                  text != nullptr ? 0 : error);
    }
    if (batch.release == nullptr) return counted;
    counted += static_cast<std::uint64_t>(batch.length);
    batch.release(&batch);
  }
}

JobOptions job_of(const ParsedOptions& options) {
  JobOptions job;
  set_job_options(options, job);
  set_temp_compression(options, job);
  return job;
}

// With a limit, the footers often tell which row groups can have the first sorted rows.
void leave_out_row_groups(ColumnSource& source, const column_sort_options& sort,
                          const ResultRange& range) {
  if (!range.limit || sort.unique) return;
  const column_key& first = sort.by.front();
  source.leave_out({.limit = *range.needed(),
                    .column = first.column.c_str(),
                    .descending = first.descending,
                    .nulls_first = first.nulls_first});
}

}  // namespace

bool is_columns(std::string_view record) {
  return record == "parquet" || record == "arrow";
}

std::string resolve_column(const CsvColumn& column, const std::vector<std::string>& names,
                           const std::string& table) {
  const std::string place = table.empty() ? "" : table + ": ";
  if (column.name.empty()) {
    if (column.index < names.size()) return names[column.index];
    throw Error(ErrorCode::usage, place + "there is no column " + std::to_string(column.index + 1) +
                                      ": there are " + std::to_string(names.size()));
  }
  const auto count = std::ranges::count(names, column.name);
  if (count == 1) return column.name;
  if (count > 1) {
    throw Error(ErrorCode::usage, place + "there are several columns '" + column.name + "'");
  }
  std::string all;
  for (const std::string& name : names) all.append(all.empty() ? "" : ", ").append(name);
  throw Error(ErrorCode::usage,
              place + "there is no column '" + column.name + "', the columns are: " + all);
}

std::vector<CsvKey> column_key_options(const ParsedOptions& options) {
  std::vector<std::string> specs = options.values("key");
  if (options.has("part-by")) specs.insert(specs.begin(), options.value("part-by", ""));
  if (specs.empty()) {
    throw_usage(options.command(),
                "columns need a --key: the name or number of the column to sort by");
  }
  return parse_csv_keys(specs, options.has("reverse"), ColumnTypes::of_columns);
}

column_sort_options column_sort_option(const ParsedOptions& options,
                                       const std::vector<CsvKey>& keys, ColumnSource& source) {
  column_sort_options sort;
  const std::vector<std::string>& names = source.column_names();
  for (const CsvKey& key : resolve_places(keys, names.size(), "")) {
    sort.by.push_back({.column = resolve_column(key.column, names, ""),
                       .descending = key.descending,
                       .nulls_first = !key.empty_last.value_or(true)});
  }
  const ResultRange range = range_option(options);
  sort.skip = range.skip;
  sort.limit = range.limit;
  sort.unique = options.has("unique");
  sort.in_memory = true;  // its batches are part of what the module takes
  leave_out_row_groups(source, sort, range);
  return sort;
}

std::vector<module_table::SortedBy> sorted_by(const column_sort_options& sort) {
  std::vector<module_table::SortedBy> by;
  for (const column_key& key : sort.by) {
    by.push_back({key.column.c_str(), key.descending, key.nulls_first});
  }
  return by;
}

ColumnsJob::ColumnsJob(const ParsedOptions& options, JobOptions job, bool count_only)
    : options_(options),
      count_only_(count_only),
      job_(std::move(job)),
      start_(std::chrono::steady_clock::now()) {
  plan_.record = options.value("format", "");
  format_ = column_format(plan_.record);
  compression_ = compression_option(options, format_);
  plan_.output = count_only ? "" : job_.output;
  plan_.format = format_text(output_format());
  plan_.compression = compression_.text;
  plan_.memory_bytes = job_.memory_bytes;
  plan_.threads = job_.threads != 0 ? job_.threads : available_processors();
  plan_.scratch_dirs = job_.scratch_dirs;
  if (count_only) job_.output.assign(1, '-');
}

ColumnsJob::ColumnsJob(const Caller& caller, const ParsedOptions& options, bool count_only)
    : ColumnsJob(options, job_of(options), count_only) {
  stats_ = options.has("stats") ? options.word("stats", "table") : "";
  watch_.emplace(caller, options, job_, job_);
}

ColumnSource& ColumnsJob::open(const std::vector<std::string>& names) {
  check_parts(names);
  plan_.inputs.push_back({.files = expand_inputs(names, format_)});
  load_arrow_module().limit_memory(memory_for_metadata(job_.memory_bytes));
  sources_.push_back(
      std::make_unique<ColumnSource>(format_, plan_.inputs.back().files, plan_.threads));
  return *sources_.back();
}

void ColumnsJob::make_plan() {
  std::vector<module_table::SourceFacts> facts;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    facts.push_back(plan_.inputs[i].facts = sources_[i]->facts());
  }
  plan_.memory = plan_column_memory(plan_.memory_bytes, format_, facts);
}

// Calls work(), during which sources may be read. What a source says of its failure is more than
// what is left of it in the engine's words.
template <class Work>
void ColumnsJob::read_sources(Work&& work) {
  try {
    work();
  } catch (...) {
    std::vector<ColumnSource*> sources;
    for (const auto& source : sources_) sources.push_back(source.get());
    rethrow_failure(plan_.memory_bytes, format_, sources);
    throw;
  }
}

void ColumnsJob::begin_result(const Begin& begin, ArrowArrayStream* out) {
  const resources shared({.memory_bytes = plan_.memory.engine_bytes,
                          .threads = plan_.threads,
                          .backend = job_.backend,
                          .scratch_codec = job_.scratch_codec,
                          .scratch_level = job_.scratch_level,
                          .device = Device::cpu});
  shared.shared()->set_scratch_dirs(job_.scratch_dirs);
  shared.shared()->time_line = job_.time_line;
  std::vector<OwnedStream> in(sources_.size());
  for (std::size_t i = 0; i < in.size(); ++i) sources_[i]->start(plan_.memory.batches, &in[i]);
  read_sources([&] { begin(in, out, shared); });
}

FileTraffic ColumnsJob::all_file_traffic() const {
  FileTraffic bytes;
  for (const auto& source : sources_) bytes.read += source->facts().bytes_read;
  if (target_) bytes.written = target_->bytes_written();
  return bytes;
}

std::function<FileTraffic()> ColumnsJob::file_traffic() {
  traffic_.emplace([this] { return all_file_traffic(); });
  return [this] { return traffic_->tell(); };
}

std::uint64_t ColumnsJob::expected_rows(std::size_t table) const {
  const module_table::SourceFacts& facts = plan_.inputs[table].facts;
  return facts.rows_known != 0 ? facts.rows - facts.rows_left_out : 0;
}

// Those of the library. The last one, "finish", goes on here: what it gave must be written.
void ColumnsJob::take_phases(const std::string& prefix) {
  for (PhaseReport& phase : measured_.phases) {
    phase.name.insert(0, prefix);
    report_.phases.push_back(std::move(phase));
  }
  measured_.phases.clear();
  if (!report_.phases.empty()) traffic_->extend(report_.phases.back());
}

Format ColumnsJob::output_format() const {
  if (format_ == Format::parquet) return format_;
  return job_.in_parts() ? Format::ipc_file : ipc_format_of(job_.output);
}

std::unique_ptr<ColumnTarget> ColumnsJob::make_target() const {
  if (!job_.in_parts()) {
    return std::make_unique<ColumnFile>(job_.output, job_.scratch_dirs, job_.verify);
  }
  return std::make_unique<ColumnParts>(job_.output, job_.verify, plan_.record);
}

void ColumnsJob::write(const Result& result, ArrowArrayStream* rows) {
  module_table::TargetOptions options{};
  options.format = output_format();
  options.compression = compression_.method.c_str();
  options.level = compression_.level;
  options.sorted_by = result.sorted_by.data();
  options.sorted_by_count = result.sorted_by.size();
  options.memory_bytes = plan_.memory.writing_bytes;
  options.row_group_rows = kRowGroupRows;
  options.threads = plan_.threads;
  options.parts.parts = job_.parts;
  if (job_.parts > 1) {
    options.parts.rows = counted_rows_ ? *counted_rows_ : result.rows_written(rows_read());
  }
  options.parts.bytes = job_.part_bytes;
  if (!result.part_by.empty()) options.parts.column = result.part_by.c_str();
  report_.written = target_->write(options, rows);
  report_.bytes_written = target_->bytes_written();
}

bool ColumnsJob::counts_first(const Result& result) const {
  return job_.parts != 0 && result.counted && !count_only_;
}

// As join_counted_first() of other records.
void ColumnsJob::count_first(const Begin& begin) {
  OwnedStream rows;
  begin_result(begin, &rows);
  read_sources([&] { counted_rows_ = count_rows(&rows); });
  take_phases("count: ");
}

std::uint64_t ColumnsJob::rows_read() const {
  std::uint64_t rows = 0;
  for (const auto& source : sources_) rows += source->facts().rows_read;
  return rows;
}

void ColumnsJob::check_rows(const Result& result) {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    plan_.inputs[i].facts = sources_[i]->facts();
    check_rows_read(plan_.inputs[i].facts);
  }
  const std::uint64_t written = report_.written.rows;
  const auto check_written = [&](std::uint64_t expected, const char* how) {
    if (written == expected) return;
    throw Error(ErrorCode::corrupt, std::to_string(written) + " rows were written of " +
                                        std::to_string(expected) + " that were " + how);
  };
  if (result.has_all_rows) check_written(rows_read(), "read");
  if (counted_rows_) check_written(*counted_rows_, "counted");
  if (result.check) result.check(rows_read(), written);
}

void ColumnsJob::give_rows(const Result& result, const Begin& begin, OwnedStream& rows) {
  // Before the work: an output that cannot be written is told at once.
  if (!count_only_ && !target_) target_ = make_target();
  if (watch_) watch_->watch_files([this] { return all_file_traffic(); });
  load_arrow_module().limit_memory(plan_.memory.module_bytes);
  if (counts_first(result)) count_first(result.counted);
  begin_result(begin, &rows);
  load_arrow_module().limit_memory(0);  // writing looks after itself
  read_sources([&] {
    if (target_) {
      write(result, &rows);
    } else {
      report_.written.rows = count_rows(&rows);
    }
  });
}

std::uint64_t ColumnsJob::finish(const Result& result) {
  check_rows(result);
  const std::vector<PhaseReport> counting = std::move(report_.phases);
  static_cast<Measurements&>(report_) = measured_;
  report_.phases = counting;
  if (target_) {
    publish();
  } else {
    take_phases("");
  }
  return report_.written.rows;
}

void ColumnsJob::publish() {
  const auto enter = [this](Phase phase) {
    if (watch_) progress()->phase = phase;
  };
  if (job_.verify) {
    enter(Phase::verifying);
    take_phases("");
    const auto io = open_io(job_, {});
    io::ReadBack read_back(*io, job_.stop, {});
    PhaseReport phase;
    phase.name = "verify";
    phase.start = std::chrono::steady_clock::now();
    target_->publish(&read_back);
    phase.seconds = seconds_since(phase.start);
    phase.bytes_read = io->stats().bytes_read;
    report_.phases.push_back(std::move(phase));
  } else {
    enter(Phase::finishing);
    target_->publish(nullptr);
    take_phases("");
  }
  report_.output_in_place = target_->in_place();
}

int ColumnsJob::run(const Result& result, const Begin& begin) {
  check_parts(job_, true);
  std::vector<std::string> files;
  for (const ColumnsInput& input : plan_.inputs) {
    files.insert(files.end(), input.files.begin(), input.files.end());
  }
  if (counts_first(result)) check_can_be_read_again(files);
  make_plan();
  if (options_.has("explain")) {
    std::fputs((stats_ == "json" ? explain_json(plan_) : explain(plan_)).c_str(), stdout);
    return kExitSuccess;
  }
  watch_->run(
      files, progress_option(options_, true),
      [&] {
        OwnedStream rows;
        give_rows(result, begin, rows);
        rows.end();  // its memory and scratch space
        finish(result);
        report_.seconds = seconds_since(start_);
        report_.peak_memory_bytes = peak_memory_bytes();
        report_.peak_file_memory_bytes = load_arrow_module().peak_memory_bytes();
        return report_;
      },
      [&](const ColumnsReport* done) -> JobPage {
        return {.plan = explain(plan_),
                .facts = done != nullptr ? stats_table(plan_, *done) : "",
                .given = {.threads = plan_.threads}};
      });
  print_summary(options_, progress_option(options_, true), summary_of(plan_, report_), report_);
  if (count_only_) std::printf("%ju\n", static_cast<std::uintmax_t>(report_.written.rows));
  if (stats_ == "table") std::fputs(stats_table(plan_, report_).c_str(), stderr);
  if (stats_ == "json") std::fprintf(stderr, "%s\n", stats_json(plan_, report_).c_str());
  return kExitSuccess;
}

}  // namespace xxl::cli
