#include "job/general_sort/long_records.h"

#include <algorithm>

#include "base/machine_limits.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "io/io_queue.h"
#include "io/transfer.h"

namespace xxl {
namespace {

constexpr std::uint64_t kMostReadOn = kGiB;
constexpr std::size_t kReadOnBytes = kMiB;

// Reads `file` on from `position`: to the end of the record that has begun, and `left` bytes of
// what follows, from which they are taken. False if that is not all of the file.
bool read_file_on(io::File& file, std::uint64_t position, std::uint64_t& left,
                  const std::stop_token& stop, RecordLengths& lengths) {
  if (lengths.are_alike()) return false;
  const MemoryRegion buffer(kReadOnBytes);
  const std::uint64_t most_begun = physical_memory_bytes();
  if (!file.is_open()) file.open();
  bool in_first = lengths.begun() > 0;
  for (bool at_end = false; !at_end;) {
    if (stop.stop_requested()) throw_stopped();
    if (in_first ? lengths.begun() >= most_begun : left == 0) break;
    // Direct transfers begin at sectors.
    const auto skipped = static_cast<std::size_t>(file.seekable() ? position % kSectorBytes : 0);
    const std::uint64_t from = file.seekable() ? position - skipped : io::Request::kStream;
    const std::size_t bytes = io::read_at(file, from, buffer.span());
    at_end = bytes < kReadOnBytes;
    const std::size_t read = bytes - std::min(bytes, skipped);
    lengths.add({reinterpret_cast<const char*>(buffer.data()) + skipped, read});
    position += read;
    if (in_first) {
      in_first = lengths.longest()[0] == 0;
    } else {
      left -= std::min<std::uint64_t>(left, read);
    }
    if (at_end) {
      lengths.end();
      file.close();
      return true;
    }
  }
  lengths.end();
  return false;
}

}  // namespace

LongRecords long_records(const RecordLengths::Longest& longest, bool has_groups) {
  const std::uint64_t merged = longest[0] + longest[1] + (has_groups ? longest[2] : 0);
  return {static_cast<std::size_t>(longest[0]), static_cast<std::size_t>(merged)};
}

LongRecords long_records(std::span<const MergeSource> runs, bool has_groups) {
  RecordLengths lengths({});
  for (const MergeSource& source : runs) {
    if (source.run != nullptr) lengths.add_record(source.run->largest_block);
  }
  RecordLengths::Longest longest = lengths.longest();
  longest[2] = longest[0];  // a run may have several of them
  return long_records(longest, has_groups);
}

std::string too_long(std::uint64_t bytes, std::uint64_t longest, std::uint64_t given_bytes,
                     const std::string& open_quote) {
  const std::string memory = "too long for " + memory_of_name(given_bytes) + ": ";
  if (!open_quote.empty()) {
    return open_quote + ": this quote is never closed, which makes a row of " +
           format_bytes(bytes) + ", " + memory +
           "close it, leave that line out (--malformed=skip), read quotes as bytes (--quote=none) "
           "or, if the row is so long, ";
  }
  return (longest > bytes ? "records of up to " + format_bytes(longest) + " are "
                          : "a record of " + format_bytes(bytes) + " is ") +
         memory;
}

void read_on(Inputs& inputs, std::size_t input, std::uint64_t position, const std::stop_token& stop,
             RecordLengths& lengths) {
  std::uint64_t left = kMostReadOn;
  for (; input < inputs.files.size(); ++input, position = 0) {
    if (!read_file_on(inputs.files[input], position, left, stop, lengths)) return;
  }
}

RecordLengths::Longest longest_of(io::File& file, const RecordSyntax& syntax,
                                  const std::stop_token& stop) {
  RecordLengths lengths(syntax);
  std::uint64_t left = kMostReadOn;
  if (file.seekable()) read_file_on(file, 0, left, stop, lengths);
  return lengths.longest();
}

}  // namespace xxl
