// A sequence of a join's rows on their way to the output.
//
// Its length is not known beforehand. Rows gather in a buffer; if they all fit, their place in the
// output is reserved when they are complete, and other threads may fill theirs in parallel.
// Otherwise the sequence waits for its turn and keeps it until its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/checksum.h"
#include "run/text_output.h"

namespace xxl {

class RowOutput {
 public:
  // `output` must outlive it; null: rows are not written anywhere. `ticket`: of the output.
  RowOutput(TextOutput* output, Ticket ticket, char terminator, std::size_t buffer_bytes)
      : output_(output), ticket_(ticket), terminator_(terminator), buffer_bytes_(buffer_bytes) {}
  RowOutput(const RowOutput&) = delete;
  RowOutput& operator=(const RowOutput&) = delete;

  bool is_written() const { return output_ != nullptr; }
  // Waits for the turn now, and keeps it until the end.
  void take_turn() {
    if (output_ != nullptr && !piece_) piece_ = output_->begin_open_ended(ticket_);
  }

  // The next row is appended to this, without its terminator; then end_row().
  std::string& row() { return buffer_; }
  void end_row() {
    add_record(written_, std::string_view(buffer_).substr(row_begin_));
    buffer_.push_back(terminator_);
    if (buffer_.size() >= buffer_bytes_) flush();
    row_begin_ = buffer_.size();
  }

  // After the last row; must be called.
  void finish() {
    if (output_ == nullptr) return;
    if (!piece_) piece_ = output_->begin(ticket_, buffer_.size());
    piece_->append(buffer_);
    piece_->finish();
  }

  // Rows ended so far.
  const MultisetHash& written() const { return written_; }

 private:
  void flush() {
    take_turn();
    piece_->append(buffer_);
    buffer_.clear();
  }

  TextOutput* output_;
  Ticket ticket_;
  char terminator_;
  std::size_t buffer_bytes_;
  std::string buffer_;
  std::size_t row_begin_ = 0;
  std::optional<TextOutput::Reservation> piece_;
  MultisetHash written_;
};

}  // namespace xxl
