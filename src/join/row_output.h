// A sequence of a join's rows on their way to the output.
//
// Its length is not known beforehand. Rows gather in a buffer; if they all fit, their place in the
// output is reserved when they are complete, and other threads may fill theirs in parallel.
// Otherwise the sequence waits for its turn and keeps it until its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/checksum.h"
#include "base/error.h"
#include "record/record_syntax.h"
#include "run/general_output.h"

namespace xxl {

class RowOutput {
 public:
  // `output` must outlive it; null: rows are not written anywhere. `ticket`: of the output.
  RowOutput(GeneralOutput* output, Ticket ticket, const RecordSyntax& syntax,
            std::size_t buffer_bytes)
      : output_(output), ticket_(ticket), syntax_(syntax), buffer_bytes_(buffer_bytes) {
    begin_row();
  }
  RowOutput(const RowOutput&) = delete;
  RowOutput& operator=(const RowOutput&) = delete;

  bool is_written() const { return output_ != nullptr; }
  // Waits for the turn now, and keeps it until the end.
  void take_turn() {
    if (output_ != nullptr && !piece_) piece_ = output_->begin_open_ended(ticket_);
  }

  // The next row is appended to this, without what frames it; then end_row().
  std::string& row() { return buffer_; }
  void end_row() {
    const std::string_view row = std::string_view(buffer_).substr(row_begin_);
    add_record(written_, row);
    if (syntax_.counted) {
      const RecordCount bytes = count_of(row.size());
      std::memcpy(buffer_.data() + row_begin_ - sizeof(bytes), &bytes, sizeof(bytes));
    } else if (syntax_.record_bytes == 0) {
      buffer_.push_back(syntax_.terminator);
    }
    if (buffer_.size() >= buffer_bytes_) flush();
    begin_row();
  }

  // After the last row; must be called.
  void finish() {
    if (output_ == nullptr) return;
    if (syntax_.counted) buffer_.resize(row_begin_ - sizeof(RecordCount));
    if (!piece_) piece_ = output_->begin(ticket_, buffer_.size());
    if (!buffer_.empty()) piece_->append_records(buffer_, syntax_);
    piece_->finish();
  }

  // Rows ended so far.
  const MultisetHash& written() const { return written_; }

 private:
  void begin_row() {
    if (syntax_.counted) buffer_.append(sizeof(RecordCount), '\0');
    row_begin_ = buffer_.size();
  }
  static RecordCount count_of(std::size_t bytes) {
    if (bytes > std::numeric_limits<RecordCount>::max()) {
      throw Error(ErrorCode::bad_input, "a row of the join takes more than 4 GiB");
    }
    return static_cast<RecordCount>(bytes);
  }
  void flush() {
    take_turn();
    piece_->append_records(buffer_, syntax_);
    buffer_.clear();
  }

  GeneralOutput* output_;
  Ticket ticket_;
  RecordSyntax syntax_;
  std::size_t buffer_bytes_;
  std::string buffer_;
  std::size_t row_begin_ = 0;
  std::optional<GeneralOutput::Reservation> piece_;
  MultisetHash written_;
};

}  // namespace xxl
