// Reads the input of a general sort into regions of memory, in chunks that end between records.
//
//     region:  [ headroom | chunk .................. | room for items ]
//                  tail of the record that the chunk before had cut
//
// Files that can be read at any place are read asynchronously, straight to where they are sorted;
// pipes and compressed files as they come. Each is opened when it is its turn and closed when it
// has been read to its end at that time: it may have grown. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/in_flight.h"
#include "base/monitor.h"
#include "io/file.h"
#include "io/io_queue.h"
#include "job/general_sort/general_sort_options.h"
#include "job/inputs.h"
#include "record/text_records.h"

namespace xxl {

// A stretch of one input, of whole records. The last of a file may lack its terminator.
struct GeneralSegment {
  std::string_view text;
  std::size_t input = 0;
  std::uint64_t offset = 0;  // in the input, in bytes
  std::uint64_t lines = 0;   // line ends in the input before (rows only)
  std::uint64_t place = 0;   // in all inputs, one after the other, in bytes
  RowStyle style{};          // of the input

  // Of one of its records, as it was read.
  std::uint64_t place_of(std::string_view record) const {
    return place + static_cast<std::uint64_t>(record.data() - text.data());
  }
};

// Throws Error{bad_input}: `record` of `segment`, which is of the file `path`, has this `fault`.
[[noreturn]] void throw_malformed(const GeneralSegment& segment, std::string_view record,
                                  const RecordSyntax& syntax, const std::string& fault,
                                  const std::string& path);

// Calls visit(record) for each record of `segment` from `offset` on, until it returns false.
// Returns where the unvisited ones begin.
template <class Visit>
std::size_t visit_segment(const GeneralSegment& segment, std::size_t offset,
                          const RecordSyntax& syntax, Visit&& visit) {
  const std::string_view text = segment.text.substr(offset);
  if (!syntax.rows) return offset + visit_records(text, syntax, visit);
  return offset + visit_records(text, syntax, [&](std::string_view record) {
           return leaves_out(record, syntax, segment.style) || visit(record);
         });
}

// Terminators in `text`.
std::uint64_t lines_in(std::string_view text, const RecordSyntax& syntax);
// Of those in a record, which may be a malformed row, the ones before a quote that is not closed.
std::uint64_t lines_before_open_quote(std::string_view record, const RecordSyntax& syntax);

// Of a row that begins with `begun` in `line` (from 1) and has not ended yet: where the quote is
// that is still open, "line 2: column 2". Empty if there is none, and of what is no row.
std::string open_quote(std::string_view begun, const RecordSyntax& syntax, std::uint64_t line);

// Memory for one chunk and its items.
struct Region {
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
  std::size_t free_bytes = 0;  // at its start, where the reader leaves nothing
  // Set by the reader:
  std::vector<GeneralSegment> segments;
  std::byte* data_end = nullptr;  // nothing lies after it

  struct Read {
    std::size_t input;
    std::uint64_t offset;
    std::byte* to;
    std::size_t wanted;
    bool ends = false;  // the input ends here
    bool done = false;
    io::Completion completion;
  };
  std::vector<std::shared_ptr<Read>> reads;  // in order; their requests hold them too
  std::byte* base = nullptr;                 // where the first read goes
  std::byte* read_end = nullptr;             // where the next read goes
  std::size_t first_input = 0;               // place of its first read
  std::uint64_t first_offset = 0;
  std::byte* limit = nullptr;  // where reads must end

  std::size_t room() const {
    return read_end >= limit ? 0 : static_cast<std::size_t>(limit - read_end);
  }
};

class GeneralReader {
 public:
  // Called with the header of each input, if there are any.
  using OnHeader = std::function<void(std::size_t input, std::string_view header)>;
  // Called with the first record of each input after the header.
  using OnFirst = std::function<void(std::string_view record)>;

  // All references must outlive it. `on_first` may be empty.
  GeneralReader(Inputs& inputs, const RecordSyntax& syntax, io::IoService& io, Monitor& monitor,
                OnHeader on_header, OnFirst on_first = {});
  // Waits for reads under way; gives up those of pipes.
  ~GeneralReader();

  // True when nothing is left for another start().
  bool exhausted() const { return input_ == inputs_.files.size(); }
  // True when all has been handed out.
  bool finished() const { return exhausted() && carry_.empty(); }
  // True if the next chunk can be read ahead, while the one before has not been finished.
  bool can_read_ahead() const;

  // Starts reading into the first `bytes` of `region`, as its free bytes a whole number of sectors;
  // `region` stays
  // where it is until finish(). Of the record that the chunk before ended within, the beginning is
  // moved there, unless that chunk is still to be finished: see take_carry().
  void start(Region& region, std::size_t bytes);
  // False if the chunk before left more than was known when `region` was started: then it must be
  // cancelled and started again, before another region is started.
  bool has_room_for_carry(const Region& region) const {
    return carry_.size() <=
           static_cast<std::size_t>(region.base - region.memory) - region.free_bytes;
  }
  // Moves what the chunk before left to `region`, which was started ahead: before any other region
  // is started, as the next one may lie where it is now.
  void take_carry(const Region& region);
  // Where what the chunk before left lies.
  const char* carry() const { return carry_.data(); }
  // It lies at `to` from now on.
  void move_carry(std::byte* to);
  // Takes start() back: waits, and what was read will be read again.
  void cancel(Region& region);
  // Completes the chunk. False if there is no whole record in it: then carried_bytes() of a record
  // wait for a larger region. Throws Error.
  bool finish(Region& region);

  // What start() leaves before the data: as much as the chunk before has left or, while that is
  // unknown, as much as any has left so far, up to a quarter of the region.
  std::size_t headroom(std::size_t region_bytes) const;
  // Of the record that the last chunk ended within. It stays in place until the next one is
  // started, or it is moved: nothing may be written there.
  std::size_t carried_bytes() const { return carry_.size(); }
  // Where that record starts.
  std::uint64_t carried_offset() const { return carry_offset_; }
  std::size_t carried_input() const { return carry_input_; }
  // Where the next read begins.
  std::size_t next_input() const { return input_; }
  std::uint64_t next_position() const { return position_; }
  // Where the quote is that keeps that record open (open_quote()).
  std::string open_quote_of_carry() const { return open_quote(carry_, syntax_, lines_ + 1); }
  // Bytes of the inputs that have arrived.
  std::uint64_t bytes_read() const { return bytes_read_; }

  static constexpr std::size_t kHeadroom = std::size_t{64} << 10;
  static constexpr std::size_t kReadBytes = std::size_t{1} << 20;

 private:
  bool may_open() const;
  void start_reads(Region& region);
  void start_read(Region& region, std::size_t most);
  void submit(std::shared_ptr<Region::Read> read, const io::File& file, std::uint64_t offset,
              std::span<std::byte> data);
  void wait(Region::Read& read);
  void check(const Region::Read& read) const;
  std::size_t read_stream(std::byte* to, std::size_t most);
  void close_segment(Region& region, std::byte* begin, std::byte* end, std::size_t input,
                     std::uint64_t offset, bool input_ends);
  std::size_t whole_records(std::string_view text) const;
  std::size_t take_comments(std::string_view text, std::size_t input, bool input_ends);
  void see_first(GeneralSegment& segment);
  void complete_last_row(GeneralSegment& segment) const;

  Inputs& inputs_;
  const RecordSyntax& syntax_;
  io::IoService& io_;
  Monitor& monitor_;
  OnHeader on_header_;
  OnFirst on_first_;
  std::size_t most_carried_ = 0;  // so far, in whole sectors
  unsigned started_ = 0;          // regions that are not finished
  std::size_t input_ = 0;         // of the next read
  std::uint64_t position_;        // in it
  std::string_view carry_;        // start of a record that the last chunk ended within, where it
                                  // was read, or in the region of the next chunk
  std::size_t carry_input_ = 0;
  std::uint64_t carry_offset_ = 0;
  bool header_pending_;        // of the input that the next segment is of
  std::string comments_;       // before it
  bool first_pending_ = true;  // likewise its first record
  RowStyle style_;             // of the current input, once its first row is known
  std::uint64_t lines_;        // in the current input before the next segment
  std::uint64_t place_ = 0;    // of the current input
  std::uint64_t bytes_read_ = 0;
  std::size_t most_open_;  // files that can be read at any place
  std::size_t open_;
  InFlight in_flight_;
};

}  // namespace xxl
