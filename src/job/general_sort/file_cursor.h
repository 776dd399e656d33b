// The records of an input one after the other: for sort -m. With tags that say which input a record
// is of, each has its tag in front, where the record before was; the first one of a buffer is
// copied. Where a quote turns out to be a stray one, all but its line is read again, from where it
// was joined.
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
#include "base/memory_region.h"
#include "base/monitor.h"
#include "io/ahead_reader.h"
#include "io/io_queue.h"
#include "job/general_sort/general_sort_options.h"
#include "job/inputs.h"
#include "job/row_faults.h"
#include "merge/record_merge.h"
#include "record/text_records.h"

namespace xxl {

// A record that lies in several buffers, put together. Its bytes are taken from `budget`, which
// must outlive it.
class JoinedRecord {
 public:
  explicit JoinedRecord(std::size_t& budget) : budget_(budget) {}
  ~JoinedRecord() { budget_ += taken_; }
  JoinedRecord(const JoinedRecord&) = delete;
  JoinedRecord& operator=(const JoinedRecord&) = delete;

  // What it takes of the budget.
  static std::size_t memory_bytes(std::size_t bytes);
  // False, and nothing is appended, if there is no memory for it.
  bool append(std::string_view bytes);
  std::string_view view() const {
    return region_.size() == 0 ? std::string_view(few_)
                               : std::string_view(reinterpret_cast<char*>(region_.data()), size_);
  }

 private:
  std::size_t& budget_;
  std::size_t taken_ = 0;
  std::string few_;      // as long as it is short
  MemoryRegion region_;  // grows in place: pages are taken as they are written
  std::size_t size_ = 0;
};

class FileCursor final : public RecordCursor {
 public:
  // `memory`, aligned to sectors and a multiple of two of them, is for buffers. Records that lie in
  // several of them take up `budget`, which several cursors may share; when it is used up, that is
  // an error. Records are added to `hash`, malformed ones that do not end the job to `log`.
  // `number`: of the input, from 0, for its tag. The references must outlive the cursor.
  FileCursor(io::File& input, const GeneralSortOptions& options, std::span<std::byte> memory,
             std::size_t& budget, io::IoService& io, Monitor& monitor, MultisetHash& hash,
             RowFaultLog& log, std::size_t number = 0);

  // As of the reader: other files are to be read afterwards.
  void expect_others() { reader_.expect_others(); }
  // Takes the first record, before any other; none of an empty input.
  std::optional<std::string> take_header();
  bool advance() override;
  std::string_view record() const override { return record_; }
  std::shared_ptr<const void> hold() override;
  // Throws Error{bad_input}: the current record has this `fault`.
  [[noreturn]] void fail(const std::string& fault) const;

 private:
  bool next_text();
  bool take_record();
  std::optional<std::size_t> find_end(bool at_end);
  bool find_comment(bool at_end);
  void take_joined(std::size_t bytes);
  void join(std::string_view part);
  std::uint64_t line_of_fault() const;
  [[noreturn]] void refuse_joined(std::string_view part);
  void make_record(std::string_view part);
  void pass(std::string_view record);
  // The current record without its tag.
  std::string_view content() const { return record_.substr(tag_bytes_); }

  io::File& input_;
  const GeneralSortOptions& options_;
  const RecordSyntax& syntax_;
  const std::size_t number_;
  const std::size_t tag_bytes_;
  const std::uint64_t tag_;
  std::size_t& budget_;
  bool is_first_ = true;                  // no record but the header was taken
  std::string_view source_;               // what was read: a buffer, or what was joined in vain
  std::string_view text_;                 // what is left of it
  std::string_view behind_;               // what follows that in the buffer
  std::shared_ptr<JoinedRecord> joined_;  // the record, if it lies in several buffers
  std::shared_ptr<JoinedRecord> again_;   // holds the source, if that is no buffer
  RowSplitter splitter_;                  // of rows
  bool may_be_comment_ = false;           // the current record, before the header
  RowStyle style_;
  std::string_view record_;
  std::uint64_t offset_ = 0;  // of the current record
  std::uint64_t next_offset_ = 0;
  std::uint64_t line_ = 1;  // that it starts in
  std::uint64_t next_line_ = 1;
  MultisetHash& hash_;
  RowFaultLog& log_;
  io::AheadReader reader_;
};

}  // namespace xxl
