// The output of a general sort: records from many workers become one stream of bytes.
//
// Reservations are in the order of their tickets. A worker waits for its turn to reserve a part of
// the output, then fills it while others fill theirs; the one that fills the last byte of a block
// hands it on. Of an output that leaves in order (a pipe), only as many blocks are begun as have
// buffers for certain: the block that is to leave next could not be filled if later ones had all.
//
// If the output is cut into parts, a reservation that lies in one part is like any other; one that
// may not keeps its turn and cuts where a cut is due, until the rest of it lies in one part. Where
// all that is to come is known, places of reservations are laid out beforehand, and taken in any
// order, so that several parts are filled at a time; parts begin at blocks then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "base/in_flight.h"
#include "base/monitor.h"
#include "base/turns.h"
#include "record/record_syntax.h"
#include "run/byte_sink.h"
#include "run/general_scratch.h"
#include "run/output_parts.h"

namespace xxl {

class GeneralOutput {
 public:
  // The references must outlive it. Of `buffers`, three blocks at least; if the sink is in order,
  // nobody else may wait for the output while it holds some of them.
  // `parts`: where it is cut; null: nowhere.
  GeneralOutput(ByteSink& sink, WriteBuffers& buffers, std::size_t block_bytes, Monitor& monitor,
                OutputParts* parts = nullptr);
  // Gives up what finish() has not seen written.
  ~GeneralOutput() { sink_.give_up(); }
  GeneralOutput(const GeneralOutput&) = delete;
  GeneralOutput& operator=(const GeneralOutput&) = delete;

  // A reserved part of the output, to be filled by one worker. Must be finished.
  class Reservation {
   public:
    void append(std::string_view bytes);
    void append(char byte) {
      if (at_ < end_) {
        *at_++ = byte;
      } else {
        append(std::string_view(&byte, 1));
      }
    }
    // A record as `syntax` has it.
    void append_record(std::string_view record, const RecordSyntax& syntax) {
      if (output_->parts_ != nullptr) [[unlikely]]
        before_record(record, record.size() + syntax.frame_bytes());
      if (syntax.counted) {
        const auto bytes = static_cast<RecordCount>(record.size());
        append(std::string_view(reinterpret_cast<const char*>(&bytes), sizeof(bytes)));
        append(record);
      } else if (syntax.record_bytes != 0) {
        append(record);
      } else if (record.size() < static_cast<std::size_t>(end_ - at_)) {
        std::memcpy(at_, record.data(), record.size());
        at_ += record.size();
        *at_++ = syntax.terminator;
      } else {
        append(record);
        append(syntax.terminator);
      }
    }
    // Whole records with their frames, at least one.
    void append_records(std::string_view text, const RecordSyntax& syntax);
    void finish();

   private:
    friend class GeneralOutput;
    void before_record(std::string_view record, std::uint64_t bytes);
    void cut();
    void close();
    void next_block();
    void commit();

    GeneralOutput* output_ = nullptr;
    bool open_ended_ = false;
    std::uint64_t position_ = 0;  // end of the current reservation in the output
    std::uint64_t left_ = 0;      // bytes reserved after it
    std::uint64_t block_index_ = 0;
    char* begin_ = nullptr;  // of what this fills in the current block
    char* at_ = nullptr;
    char* end_ = nullptr;
    // With parts:
    bool cuts_ = false;           // where it is due
    std::uint64_t unfilled_ = 0;  // then: of a number of bytes that is known
    std::size_t part_ = 0;        // that it is in
    std::uint64_t place_ = 0;     // where it begins in there
    PartRecords records_;
    std::uint64_t end_of_part_ = ~std::uint64_t{0};  // a block ends there at the latest
  };

  // Writes what comes before the records, each part's if the output is cut. As the first ticket.
  void write_header(Ticket ticket, std::string_view header, const RecordSyntax& syntax);
  // Waits for the turn of `ticket` (0, 1, 2, ...; each must come once) and reserves `bytes`.
  Reservation begin(Ticket ticket, std::uint64_t bytes);
  // For any number of bytes, all before those of later tickets.
  Reservation begin_open_ended(Ticket ticket);

  // In place of tickets, if the output is cut into parts, not by a key, and all that is to come is
  // known: places for it are laid out, one after the other, before the first of them is begun.
  struct OutputStretch {
    std::uint64_t position;  // in the output
    std::uint64_t bytes;
    std::size_t part;
    bool has_header;  // of the part, first of all; `bytes` are without it
  };
  // For the next `bytes`, in the present part.
  OutputStretch lay_out(std::uint64_t bytes);
  // The next place is in another part.
  void cut();
  // From any thread, places in any order.
  Reservation begin(const OutputStretch& place);
  bool is_cut() const { return parts_ != nullptr; }
  std::size_t buffers() const { return buffers_.total_bytes() / block_bytes_; }

  // After the last reservation: hands on the last block, and waits for all to be written.
  void finish();
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct OpenBlock {
    std::byte* buffer = nullptr;
    std::size_t filled = 0;
  };

  Reservation begin_piece(Ticket ticket);
  void wait_for_turn(Ticket ticket);
  void end_turn();
  std::byte* block(std::uint64_t index);
  void write_empty_parts();
  void fill(std::uint64_t index, std::size_t bytes, std::size_t all);
  void hand_on(std::uint64_t index, std::byte* buffer, std::size_t bytes);

  ByteSink& sink_;
  WriteBuffers& buffers_;
  const std::size_t block_bytes_;
  const std::uint64_t most_begun_;  // blocks that are begun and not written
  Monitor& monitor_;
  OutputParts* const parts_;
  std::string header_;  // of each part, with its frame
  bool is_laid_out_ = false;
  bool header_due_ = false;  // at the next place
  // With the monitor's lock:
  Ticket turn_{};
  std::uint64_t bytes_ = 0;  // reserved
  std::map<std::uint64_t, OpenBlock> blocks_;
  std::size_t pending_ = 0;    // handed on and not written
  std::uint64_t written_ = 0;  // blocks
  InFlight in_flight_;
};

}  // namespace xxl
