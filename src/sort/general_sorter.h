// The seam between the engine and processors that sort text in memory of their own (gpu/).
//
// Records go in through packs, which workers fill, and come back sorted in slices:
//
//     take_pack()  Pack::add()         push()                            next_slice()  release()
//     [ free ] --> [ being filled ] -> [ on its way ] -> chunk, sorted -> [ slice ] --> [ free ]
//
// Packs and slices are buffers of the host's memory, few and small; the records are in the
// accelerator's memory. A chunk is as much as fits there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "record/key_extractor.h"

namespace xxl {

// What a sorter of text is made for.
struct GeneralSorterSpec {
  const KeyExtractor* keys = nullptr;
  char terminator = '\n';         // written after each record of a slice
  std::uint64_t input_bytes = 0;  // of all records, terminators included; 0: not known
  double record_bytes = 1;        // of a record, on average, as far as is known
  double key_bytes = 0;           // likewise of a key that is made; 0 where records are their keys
  unsigned threads = 1;           // threads that fill packs and use slices
};

// All calls by the coordinator thread, from its mailbox's loop, unless said otherwise. Failures are
// thrown by the mailbox as Error{device}, or Error{no_space}.
class GeneralSorter {
 public:
  // A buffer of records, to be sorted in the order in which they are added. Belongs to the sorter.
  class Pack {
   public:
    virtual ~Pack() = default;
    // Takes records (without terminators) as far as there is room for them and their keys; returns
    // how many. A record that an empty pack does not take is too long for the sorter. From any
    // thread, one at a time.
    virtual std::size_t add(std::span<const std::string_view> records) = 0;
    virtual std::size_t records() const = 0;
  };

  // Sorted records, concatenated, each with its terminator. Slices come in order.
  struct SortedSlice {
    std::uint64_t chunk = 0;  // 0, 1, 2, ...
    std::uint64_t records = 0;
    std::string_view text;  // valid until release()
    bool last = false;      // of its chunk
    std::size_t buffer = 0;
  };

  // No other thread may still use its memory.
  virtual ~GeneralSorter() = default;

  // An empty pack; null if none is free now, or if no more than `spare` are.
  virtual Pack* take_pack(std::size_t spare) = 0;
  // Appends a pack that is not empty to its chunk, whose number is returned. Nothing if there is no
  // room now: try again after pulling slices, or after the next message. A chunk that has no room
  // for it is sealed.
  virtual std::optional<std::uint64_t> push(Pack* pack) = 0;
  // Gives a pack back that is not needed.
  virtual void drop(Pack* pack) = 0;
  // What has been pushed since the last chunk was sealed, if anything, is a chunk.
  virtual void seal() = 0;
  // Chunks sealed so far.
  virtual std::uint64_t sealed() const = 0;

  // The next slice, if it is there now.
  virtual std::optional<SortedSlice> next_slice() = 0;
  // The slice is no longer needed. In any order.
  virtual void release(const SortedSlice& slice) = 0;
};

}  // namespace xxl
