#include "pipeline/file_cursor.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "record/csv_rows.h"

namespace xxl {

FileCursor::FileCursor(TextInput& input, const TextSortOptions& options,
                       std::span<std::byte> memory, std::size_t most_bytes, io::IoService& io,
                       Monitor& monitor, MultisetHash& hash, std::uint64_t& skipped)
    : input_(input),
      options_(options),
      syntax_(options.syntax),
      memory_(memory),
      most_bytes_(most_bytes),
      hash_(hash),
      skipped_(skipped) {
  if (input.decoder == nullptr) reader_.emplace(input.file, memory, io, monitor);
}

// Reads on. False at the end.
bool FileCursor::next_buffer() {
  std::span<const std::byte> buffer;
  if (reader_) {
    buffer = reader_->next();
  } else if (!at_end_) {
    const std::size_t bytes = input_.decoder->read(memory_);
    at_end_ = bytes < memory_.size();
    buffer = memory_.first(bytes);
  }
  text_ = {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
  return !buffer.empty();
}

bool FileCursor::take_record() {
  joined_.clear();
  offset_ = next_offset_;
  line_ = next_line_;
  for (;;) {
    if (text_.empty() && !next_buffer()) {
      if (joined_.empty()) return false;
      record_ = joined_;  // without its terminator
      next_offset_ += joined_.size();
      return true;
    }
    std::size_t end;
    if (!syntax_.quoted) {
      end = text_.find(syntax_.terminator);
    } else if (joined_.empty()) {
      end = find_row_end(text_, 0, syntax_.terminator);
    } else {
      // Whether this buffer begins inside quotes is known from what has been joined.
      const bool inside = std::count(joined_.begin(), joined_.end(), kQuote) % 2 == 1;
      const QuoteScan scan = scan_quotes(text_, syntax_.terminator);
      const QuoteScan::Ends& ends = inside ? scan.if_inside : scan.if_outside;
      end = ends.count > 0 ? ends.first - 1 : text_.npos;
    }
    if (end != text_.npos) {
      record_ = text_.substr(0, end);
      if (!joined_.empty()) {
        joined_.append(record_);
        record_ = joined_;
      }
      text_.remove_prefix(end + 1);
      next_offset_ += record_.size() + 1;
      ++next_line_;
      if (syntax_.quoted) {
        next_line_ += std::count(record_.begin(), record_.end(), syntax_.terminator);
      }
      return true;
    }
    joined_.append(text_);
    text_ = {};
    if (joined_.size() > most_bytes_) {
      throw Error(ErrorCode::no_space,
                  "a record is longer than " + format_bytes(most_bytes_) +
                      ", the most that this -S allows: give more memory",
                  input_.file.path(), offset_);
    }
  }
}

std::optional<std::string> FileCursor::take_header() {
  return take_record() ? std::optional(std::string(record_)) : std::nullopt;
}

bool FileCursor::advance() {
  for (;;) {
    if (!take_record()) return false;
    if (std::exchange(is_first_, false) && options_.first_record) options_.first_record(record_);
    const auto fault = options_.malformed ? options_.malformed(record_) : std::nullopt;
    if (!fault) break;
    if (!syntax_.skip_malformed) {
      throw Error(ErrorCode::bad_input, "line " + std::to_string(line_) + ": " + *fault,
                  input_.file.path(), offset_);
    }
    ++skipped_;
  }
  add_record(hash_, record_);
  return true;
}

}  // namespace xxl
