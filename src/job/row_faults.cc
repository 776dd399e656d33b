#include "job/row_faults.h"

#include <span>

#include "base/error.h"
#include "base/quote.h"
#include "base/units.h"
#include "io/transfer.h"

namespace xxl {
namespace {

constexpr std::size_t kBufferBytes = 64 * kKiB;

const std::string& checked_path(const std::string& path) {
  if (path != "-" && io::OutputFile::is_replaceable(path)) return path;
  throw Error(ErrorCode::usage,
              "rows that are left out need a file of their own: give its name to --rejects", path);
}

}  // namespace

RejectsFile::RejectsFile(const std::string& path, const std::vector<std::string>& scratch_dirs)
    : file_(checked_path(path), false, scratch_dirs) {
  append("file,line,reason,row\n");
}

void RejectsFile::add(const std::string& file, std::uint64_t line, std::string_view reason,
                      std::string_view row) {
  if (row.ends_with('\r')) row.remove_suffix(1);
  std::lock_guard lock(mutex_);
  append_quoted(file);
  append(",");
  append(std::to_string(line));
  append(",");
  append_quoted(reason);
  append(",");
  append_quoted(row);
  append("\n");
}

void RejectsFile::append(std::string_view text) {
  while (!text.empty()) {
    if (buffer_.size() == kBufferBytes) flush();
    const std::string_view piece = text.substr(0, kBufferBytes - buffer_.size());
    buffer_.append(piece);
    text.remove_prefix(piece.size());
  }
}

// As a field of CSV.
void RejectsFile::append_quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return append(text);
  append("\"");
  for (std::size_t quote; (quote = text.find('"')) != text.npos; text.remove_prefix(quote + 1)) {
    append(text.substr(0, quote + 1));
    append("\"");
  }
  append(text);
  append("\"");
}

void RejectsFile::flush() {
  file_.reserve(written_, buffer_.size());
  io::write_at(file_.file(), written_, std::as_bytes(std::span(buffer_)));
  written_ += buffer_.size();
  buffer_.clear();
}

void RejectsFile::publish() {
  std::lock_guard lock(mutex_);
  flush();
  file_.publish(written_);
}

std::unique_ptr<RejectsFile> make_rejects_file(const RejectOptions& options,
                                               const std::vector<std::string>& scratch_dirs) {
  if (options.rejects.empty() || options.rejects_file != nullptr) return nullptr;
  return std::make_unique<RejectsFile>(options.rejects, scratch_dirs);
}

void RowFaultLog::set_first(std::uint64_t order, const std::string& path, std::uint64_t line,
                            const std::string& what) {
  std::lock_guard lock(mutex_);
  if (order >= first_order_.load()) return;
  first_order_ = order;
  first_ = quote_controls(path) + ": line " + std::to_string(line) + ": " + what;
}

RowFaults RowFaultLog::faults() const {
  std::lock_guard lock(mutex_);
  return {.skipped = skipped_, .kept = kept_, .first_fault = first_, .comments = comments_};
}

// (With several ranks, the rows may be those of others.)
std::string RowFaultLog::first_in_words() const {
  const std::string first = faults().first_fault;
  return first.empty() ? "" : " (first: " + first + ")";
}

void RowFaultLog::check(std::uint64_t records, std::uint64_t skipped) const {
  if (is_too_many(skipped)) throw_too_many();
  if (most_ || skipped <= records) return;
  throw Error(ErrorCode::bad_input,
              "more than half of the rows are malformed, " + std::to_string(skipped) + " of " +
                  std::to_string(records + skipped) + first_in_words() +
                  ": if they are to be left out, add --max-rejects=" + std::to_string(skipped));
}

void RowFaultLog::throw_too_many() const {
  throw Error(ErrorCode::bad_input,
              "more malformed rows than --max-rejects=" + std::to_string(*most_) + " lets through" +
                  first_in_words());
}

}  // namespace xxl
