// Malformed rows that do not end a job: how many they are, which is the first, and the file of
// those that are left out.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/output_file.h"
#include "record/record_rules.h"
#include "xxl/job.h"

namespace xxl {

// Rows that were left out, as rows of CSV: file, line, reason, row. It appears when it is
// published, complete or not at all. Rows are in the order in which they are found: with several
// threads not always in that of the input.
class RejectsFile {
 public:
  // Throws Error. `scratch_dirs`: as for io::OutputFile.
  RejectsFile(const std::string& path, const std::vector<std::string>& scratch_dirs);

  // From any thread. Throws Error.
  void add(const std::string& file, std::uint64_t line, std::string_view reason,
           std::string_view row);
  void publish();

 private:
  void append(std::string_view text);
  void append_quoted(std::string_view text);
  void flush();

  std::mutex mutex_;
  io::OutputFile file_;
  std::string buffer_;
  std::uint64_t written_ = 0;
};

// Options for rows that are left out.
struct RejectOptions {
  std::string rejects;                       // file for them; empty: none
  std::optional<std::uint64_t> max_rejects;  // most of them; none: half of all rows
  RejectsFile* rejects_file = nullptr;       // of the job that this one is a part of
};

// Makes the file of `rejects`, unless that is empty or the job is a part of another one.
std::unique_ptr<RejectsFile> make_rejects_file(const RejectOptions& options,
                                               const std::vector<std::string>& scratch_dirs);

// The malformed rows of one input.
class RowFaultLog {
 public:
  // Where a row is.
  struct Place {
    std::size_t input;     // number of the file
    std::uint64_t offset;  // in it
    const std::string& path;
  };

  explicit RowFaultLog(const RejectOptions& options)
      : most_(options.max_rejects), file_(options.rejects_file) {}

  // To be called before any row is added.
  void write_to(RejectsFile* file) { file_ = file; }
  // Rows may be left out here and elsewhere: only check() counts them all.
  void count_later() { counts_now_ = false; }

  // A row that is left out or kept. `line()` is its line, called if that is needed. From any
  // thread. Throws Error{bad_input} if more are left out than may be.
  template <class Line>
  void add(const RecordFault& fault, const Place& place, std::string_view row, Line&& line) {
    const bool skips = fault.fate == RecordFault::Fate::skip;
    const std::uint64_t count = ++(skips ? skipped_ : kept_);
    const std::uint64_t order = order_of(place);
    const bool is_first = order < first_order_.load();
    if (!is_first && (!skips || file_ == nullptr) && !is_too_many(count)) return;
    const std::uint64_t at = line();
    if (is_first) set_first(order, place.path, at, fault.what);
    if (skips && file_ != nullptr) file_->add(place.path, at, fault.what, row);
    if (skips && counts_now_ && is_too_many(count)) throw_too_many();
  }

  void drop_comments(std::uint64_t count) { comments_ += count; }

  std::uint64_t skipped() const { return skipped_; }
  RowFaults faults() const;
  // Throws Error{bad_input} if of all rows more were left out, `skipped` of them, than may be;
  // `records` were not.
  void check(std::uint64_t records, std::uint64_t skipped) const;

 private:
  // Inputs are ordered by their number, rows of one by their places.
  static std::uint64_t order_of(const Place& place) {
    return (std::uint64_t{place.input} << 44) + place.offset;
  }
  bool is_too_many(std::uint64_t count) const { return most_ && count > *most_; }
  void set_first(std::uint64_t order, const std::string& path, std::uint64_t line,
                 const std::string& what);
  std::string first_in_words() const;
  [[noreturn]] void throw_too_many() const;

  const std::optional<std::uint64_t> most_;
  RejectsFile* file_;
  bool counts_now_ = true;
  std::atomic<std::uint64_t> skipped_{0};
  std::atomic<std::uint64_t> kept_{0};
  std::uint64_t comments_ = 0;
  std::atomic<std::uint64_t> first_order_{~std::uint64_t{0}};
  mutable std::mutex mutex_;
  std::string first_;
};

}  // namespace xxl
