// Where the stream of an output is cut into parts, each of which becomes a file
// (docs/internals/parts.md).
//
// Records are written as one stream, as for a single file. A part begins at a multiple of the
// alignment, so that its file can be written by direct I/O; what lies between two parts is zeros,
// which no file has:
//
//     stream   |part 0 ........|0 0|part 1 ............|0|part 2 ...
//     blocks   |       0     |       1     |       2     |
//
// A record lies in one part. Parts are cut either at so many bytes, or into a number of parts of
// about equal size, or before each record whose key is another than that of the one before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/key_extractor.h"

namespace xxl {

// A part for each value of a key.
struct PartKey {
  std::shared_ptr<const KeyExtractor> key{};
  // The directory of the part that begins with `record`. Called in the order of parts. May throw.
  std::function<std::string(std::string_view record)> directory{};
};

// One of the three, or none: then the output is not cut.
struct PartRules {
  std::uint64_t parts = 0;                    // so many, of which the last ones may be empty
  std::uint64_t part_bytes = 0;               // at most, unless one record is larger
  std::shared_ptr<const KeyExtractor> key{};  // a part for each of its values
  std::function<std::string(std::string_view record)> directory{};  // see PartKey

  bool any() const { return parts != 0 || part_bytes != 0 || key != nullptr; }
};

struct OutputPart {
  std::uint64_t start = 0;         // in the stream
  std::uint64_t bytes = 0;         // with the header
  std::uint64_t header_bytes = 0;  // in front of the records
  std::uint64_t records = 0;
  // The first and the last record, with what frames them; 0 if there is none.
  std::uint64_t first_bytes = 0;
  std::uint64_t last_bytes = 0;
  std::uint64_t checksum = 0;  // sector_checksum(), if it was noted
};

// Consecutive records of one part.
struct PartRecords {
  std::uint64_t records = 0;
  std::uint64_t first_bytes = 0;
  std::uint64_t last_bytes = 0;

  void add(std::uint64_t bytes) {
    if (records++ == 0) first_bytes = bytes;
    last_bytes = bytes;
  }
};

class OutputParts {
 public:
  // `alignment`: of parts in the stream.
  OutputParts(PartRules rules, std::size_t alignment);

  // --- before the first record ---

  // With a number of parts: what all records take. More does no harm, but then the last parts are
  // small or empty.
  void expect(std::uint64_t bytes) { expected_bytes_ = bytes; }
  std::size_t alignment() const { return alignment_; }

  // --- in the order of the stream: one thread at a time ---

  // True if records of `bytes` in all surely go to the present part.
  bool takes(std::uint64_t bytes) const;
  // Of records of `record_bytes` each, how many may follow before the next cut; 0: a cut is due.
  // With a key: as many as have one part, which must_cut_before() tells.
  std::uint64_t room(std::uint64_t record_bytes) const;
  // The most cuts that may be due before or among records of `bytes` in all.
  std::uint64_t most_cuts(std::uint64_t bytes, std::uint64_t record_bytes) const;
  // True if a cut is due before `record`, which takes `bytes` with its frame.
  bool must_cut_before(std::string_view record, std::uint64_t bytes);
  // With a key: true if that of `record` is the one that must_cut_before() got last.
  bool has_present_key(std::string_view record);
  // As must_cut_before(), unless parts have a key, of a record with `before` bytes of records
  // between it and what was added last.
  bool is_behind_cut(std::uint64_t before, std::uint64_t bytes) const;
  // Ends the present part and begins the next one, at a multiple of the alignment or of
  // `alignment`. Returns how many zeros lie between the two.
  std::uint64_t cut() { return cut(alignment_); }
  std::uint64_t cut(std::uint64_t alignment);
  // The present part grows.
  void add_header(std::uint64_t bytes);
  void add(std::uint64_t bytes);
  // True at the end while there are fewer parts than were asked for.
  bool lacks_parts() const { return present_ + 1 < rules_.parts; }
  // In place of all that is above, if all records are known: cuts `records` of `record_bytes` each.
  // Parts begin at multiples of `alignment`. Returns where their records are.
  struct PartPlace {
    std::uint64_t first_record;
    std::uint64_t records;
    std::uint64_t start;  // in the stream
  };
  std::vector<PartPlace> cut_all(std::uint64_t records, std::uint64_t record_bytes,
                                 std::uint64_t alignment);
  // The number of the present part, and where it ends so far in the stream.
  std::size_t present() const { return present_; }
  std::uint64_t end() const { return start_ + bytes_; }
  bool have_key() const { return rules_.key != nullptr; }

  // --- from any thread ---

  // The records that were put at `place` of the stream, in part `part`.
  void note(std::size_t part, std::uint64_t place, const PartRecords& records);
  // The checksum of a part is the sum of those of its stretches.
  void note_checksum(std::size_t part, std::uint64_t sum);
  // A stretch of the stream that lies in one part, and the zeros that follow.
  struct Stretch {
    std::size_t part;
    std::uint64_t offset;  // in the part
    std::size_t bytes;
  };
  // Where a part ends in the stream, so far.
  std::uint64_t end_of(std::size_t part) const;
  // What lies at [begin, end) of the stream, all cuts of which have been made.
  std::vector<Stretch> stretches(std::uint64_t begin, std::uint64_t end) const;

  // After the last record.
  std::vector<OutputPart> parts() const;
  // Those of the first parts, in order. They are gone then.
  std::vector<std::string> take_directories() { return std::move(directories_); }

 private:
  struct Noted {
    std::uint64_t records = 0;
    std::uint64_t first_place = ~std::uint64_t{0}, first_bytes = 0;
    std::uint64_t last_place = 0, last_bytes = 0;
  };
  // Where the present part ends at the latest, in bytes of records, if their number says so.
  std::uint64_t boundary() const;

  const PartRules rules_;
  const std::size_t alignment_;
  std::vector<std::string> directories_;
  std::uint64_t expected_bytes_ = 0;

  std::size_t present_ = 0;
  std::uint64_t start_ = 0;         // of the present part, in the stream
  std::uint64_t bytes_ = 0;         // of it
  std::uint64_t header_bytes_ = 0;  // of it
  std::uint64_t record_bytes_ = 0;  // of all records
  bool any_key_ = false;
  std::string last_key_;
  std::string made_;

  mutable std::mutex mutex_;       // of what follows
  std::vector<OutputPart> parts_;  // the last one is the present one, whose size is not set
  std::vector<Noted> noted_;
};

}  // namespace xxl
