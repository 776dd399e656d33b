// The records of an input one after the other: for sort -m.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/checksum.h"
#include "base/in_flight.h"
#include "base/monitor.h"
#include "io/io_queue.h"
#include "merge/record_merge.h"
#include "pipeline/text_input.h"
#include "pipeline/text_sort.h"

namespace xxl {

class FileCursor final : public RecordCursor {
 public:
  // `memory`, aligned to sectors and a multiple of two of them, is cut into two buffers. A record
  // of more than `most_bytes` is an error. Records are added to `hash`,
  // malformed ones that are left out to `skipped`. The references must
  // outlive the cursor.
  FileCursor(TextInput& input, const TextSortOptions& options, std::span<std::byte> memory,
             std::size_t most_bytes, io::IoService& io, Monitor& monitor, MultisetHash& hash,
             std::uint64_t& skipped);
  // Waits for a read under way; gives up that of a pipe.
  ~FileCursor() override;

  // Takes the first record, before any other; none of an empty input.
  std::optional<std::string> take_header();
  bool advance() override;
  std::string_view record() const override { return record_; }
  // Where the current record starts in the file: its line, from 1, and its byte.
  std::ptrdiff_t line() const { return line_; }
  std::uint64_t offset() const { return offset_; }

 private:
  void start_read();
  bool next_buffer();
  bool take_record();

  TextInput& input_;
  const TextSortOptions& options_;
  const TextSyntax& syntax_;
  std::span<std::byte> buffers_[2];
  std::size_t most_bytes_;
  io::IoService& io_;
  Monitor& monitor_;
  unsigned reading_ = 0;        // the buffer that is read into, or will be
  std::uint64_t position_ = 0;  // of the next read
  bool at_end_ = false;         // nothing is left to read
  bool under_way_ = false;
  bool is_first_ = true;  // no record but the header was taken
  bool done_ = false;     // with the monitor's lock
  io::Completion completion_;
  std::string_view text_;  // what is left of the current buffer
  std::string joined_;     // a record that lay in several buffers
  std::string_view record_;
  std::uint64_t offset_ = 0;  // of the current record
  std::uint64_t next_offset_ = 0;
  std::ptrdiff_t line_ = 1;  // that it starts in
  std::ptrdiff_t next_line_ = 1;
  MultisetHash& hash_;
  std::uint64_t& skipped_;
  InFlight in_flight_;
};

}  // namespace xxl
