// Runs of records of any length: their blocks, and what is remembered of them.
//
// A block holds whole records in order, each as its length (LEB128) and its bytes:
//
//     03 f o x  85 01 b r o w n ...     "fox", then a record of 133 bytes
//
// It lies in one or more slots of the scratch store, perhaps packed (compressed). In memory stay
// the checksum of what is stored, and its trigger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/scratch_store.h"

namespace xxl {

// Bytes of the length in front of a record.
inline std::size_t length_bytes(std::size_t length) {
  std::size_t bytes = 1;
  while (length >= 0x80) {
    length >>= 7;
    ++bytes;
  }
  return bytes;
}

inline std::size_t coded_bytes(std::size_t length) {
  return length_bytes(length) + length;
}

inline constexpr std::size_t kMaxLengthBytes = 10;

// Writes `record` with its length at `to`; returns the end.
inline char* put_length(char* to, std::size_t length) {
  while (length >= 0x80) {
    *to++ = static_cast<char>(length | 0x80);
    length >>= 7;
  }
  *to++ = static_cast<char>(length);
  return to;
}
inline char* put_record(char* to, std::string_view record) {
  to = put_length(to, record.size());
  std::memcpy(to, record.data(), record.size());
  return to + record.size();
}

// The record that lies coded at `from`.
inline std::string_view coded_record(const char* from) {
  std::size_t length = static_cast<unsigned char>(*from++);
  if (length >= 0x80) {
    length &= 0x7f;
    for (int shift = 7;; shift += 7) {
      const std::size_t byte = static_cast<unsigned char>(*from++);
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
  }
  return {from, length};
}

// Triggers are cut to this: still a lower bound of their block.
inline constexpr std::size_t kMaxTriggerBytes = 256;

struct TextBlock {
  std::uint64_t checksum = 0;
  std::uint32_t bytes = 0;          // of its records
  std::uint32_t stored_bytes = 0;   // in scratch
  std::uint32_t slots = 1;          // of the scratch store
  io::ScratchPlace place;           // of its only slot; of more slots: TextRun::places[place.slot]
  std::uint32_t trigger_begin = 0;  // in TextRun::triggers
  std::uint16_t trigger_bytes = 0;
  // All keys of the blocks before are smaller than the trigger. (Else some may have it as their
  // beginning.)
  bool separates = true;
  bool whole_key = false;  // the trigger is the whole key of the first record
  bool packed = false;     // what is stored must be unpacked
};

// A sorted run in the scratch store.
//
// The table of its blocks is in memory, or also in scratch, in parts of some hundred blocks. Such a
// run can be read from its beginning to its end, but takes next to no memory however long it is:
//
//     parts.blocks    [ table of blocks 0..203 ][ table of blocks 204..407 ]     in scratch
//     blocks                                                 [ 408 ][ 409 ]     of the last part
//                                                                               while it is written
struct TextRun {
  std::uint64_t identity = 0;  // seed of the blocks' checksums, different for every run
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::size_t largest_block = 0;         // bytes of a buffer
  std::unique_ptr<TextRun> parts;        // null if the table is in memory
  std::uint64_t first_block = 0;         // number of blocks[0] in the run
  std::vector<TextBlock> blocks;         // of a table in parts without triggers
  std::vector<io::ScratchPlace> places;  // of blocks of several slots
  std::string triggers;
  std::string last_key;                     // at most kMaxTriggerBytes of it
  std::optional<io::ScratchStripe> stripe;  // deals its blocks out to the disks

  std::string_view trigger(const TextBlock& block) const {
    return {triggers.data() + block.trigger_begin, block.trigger_bytes};
  }
  std::string_view trigger(std::size_t index) const { return trigger(blocks[index]); }
};

// The shortest string above `before` and not above `first` (before <= first), at most
// kMaxTriggerBytes of it. `separates`: it is above `before`.
std::string_view separator(std::string_view before, std::string_view first, bool& separates);

}  // namespace xxl
