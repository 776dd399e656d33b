#include "pipeline/file_cursor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "io/input_checks.h"
#include "record/csv_rows.h"

namespace xxl {

FileCursor::FileCursor(TextInput& input, const TextSortOptions& options,
                       std::span<std::byte> memory, std::size_t most_bytes, io::IoService& io,
                       Monitor& monitor, MultisetHash& hash, std::uint64_t& skipped)
    : input_(input),
      options_(options),
      syntax_(options.syntax),
      most_bytes_(most_bytes),
      io_(io),
      monitor_(monitor),
      hash_(hash),
      skipped_(skipped) {
  const std::size_t half = round_down(memory.size() / 2, kSectorBytes);
  buffers_[0] = memory.first(half);
  buffers_[1] = memory.subspan(half, half);
  at_end_ = input.stored() && input.file.size() == 0;
  start_read();
}

FileCursor::~FileCursor() {
  if (under_way_ && !input_.stored()) io_.cancel_streams();
}

void FileCursor::start_read() {
  if (at_end_ || input_.decoder != nullptr) return;
  const io::File& file = input_.file;
  io::Request request;
  request.op = io::Op::read;
  request.file = &file;
  request.data = buffers_[reading_];
  request.offset = io::Request::kStream;
  if (input_.stored()) {
    request.offset = position_;
    request.data = request.data.first(std::min<std::uint64_t>(
        request.data.size(), round_up<std::uint64_t>(file.size() - position_, kSectorBytes)));
  }
  done_ = false;
  under_way_ = true;
  request.done = [this, token = in_flight_.begin()](const io::Completion& completion) mutable {
    {
      auto lock = monitor_.lock();
      completion_ = completion;
      done_ = true;
    }
    monitor_.notify();
    token.reset();
  };
  io_.queue_for(file).submit(std::move(request));
}

// Makes the buffer that was read into the current one. False at the end.
bool FileCursor::next_buffer() {
  if (at_end_) return false;
  const std::span<std::byte> buffer = buffers_[reading_];
  std::size_t bytes;
  if (input_.decoder != nullptr) {
    bytes = input_.decoder->read(buffer);
    at_end_ = bytes < buffer.size();
  } else {
    {
      auto lock = monitor_.lock();
      monitor_.wait(lock, [&] { return done_; });
    }
    under_way_ = false;
    const io::File& file = input_.file;
    std::size_t wanted = 0;
    if (input_.stored()) {
      wanted =
          static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), file.size() - position_));
    }
    io::check_read(file, position_, wanted, completion_);
    bytes = completion_.bytes;
    if (input_.stored()) {
      bytes = wanted;
      at_end_ = position_ + bytes == file.size();
      if (at_end_) io::check_not_grown(file);
    } else {
      at_end_ = bytes < buffer.size();
    }
  }
  position_ += bytes;
  text_ = {reinterpret_cast<const char*>(buffer.data()), bytes};
  reading_ ^= 1;
  start_read();
  return bytes > 0;
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
