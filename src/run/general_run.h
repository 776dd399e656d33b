// Runs of records of any length: their blocks and tables.
//
// A block holds whole records in order, each as its length (LEB128) and its bytes:
//
//     03 f o x  85 01 b r o w n ...     "fox", then a record of 133 bytes
//
// In memory stay where it is stored (run/run_store.h), and its trigger.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "run/run_store.h"

namespace xxl {

// Bytes of the length before a record.
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

struct GeneralBlock : StoredBlock {
  std::uint32_t trigger_begin = 0;  // in GeneralRun::triggers
  std::uint16_t trigger_bytes = 0;
  // All keys of the blocks before are smaller than the trigger. (Otherwise some may start with it.)
  bool separates = true;
  bool whole_key = false;  // the trigger is the whole key of the first record
};

// A sorted run in the scratch store.
//
// The table of its blocks is in memory, or also in scratch, in parts of some hundred blocks. Such a
// run can only be read from its beginning to its end, but takes almost no memory however long it
// is:
//
//     parts.blocks    [ table of blocks 0..203 ][ table of blocks 204..407 ]     in scratch
//     blocks                                                 [ 408 ][ 409 ]     of the last part
//                                                                               while it is written
struct GeneralRun : StoredRun {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::size_t largest_block = 0;      // bytes of a buffer
  std::unique_ptr<GeneralRun> parts;  // null if the table is in memory
  std::vector<GeneralBlock> blocks;   // of a table in parts without triggers
  std::string triggers;
  std::string last_key;  // at most kMaxTriggerBytes of it

  std::string_view trigger(const GeneralBlock& block) const {
    return {triggers.data() + block.trigger_begin, block.trigger_bytes};
  }
  std::string_view trigger(std::size_t index) const { return trigger(blocks[index]); }
};

// The shortest string above `before` and not above `first` (before <= first), at most
// kMaxTriggerBytes of it. `separates`: it is above `before`.
inline std::string_view separator(std::string_view before, std::string_view first,
                                  bool& separates) {
  const std::size_t most = std::min(before.size(), first.size());
  std::size_t common = 0;
  while (common < most && before[common] == first[common]) ++common;
  separates = common < first.size() && common < kMaxTriggerBytes;
  return first.substr(0, separates ? common + 1 : std::min(first.size(), kMaxTriggerBytes));
}

}  // namespace xxl
