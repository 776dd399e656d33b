// Sorting lines and rows of text, of any size and number: the public entry.
//
// How it works: docs/text.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "io/io_queue.h"
#include "pipeline/external_sort.h"
#include "record/key_extractor.h"

namespace xxl {

// How records follow one another in a file. A last record without its terminator is a record like
// any other, and gets one in the output.
struct TextSyntax {
  char terminator = '\n';       // '\0' with sort -z
  bool quoted = false;          // rows of RFC 4180: a terminator between quotes is part of a field
  char separator = ',';         // of the fields of a row (quoted only)
  bool header = false;          // the first record of each input is a header: kept first, once
  bool skip_malformed = false;  // quoted only: leave malformed rows out and count them
};

enum class Codec { none, gzip, zstd, lz4 };

struct TextSortOptions {
  std::shared_ptr<const KeyExtractor> keys;
  TextSyntax syntax;
  std::vector<std::string> inputs;  // "-" is standard input; by suffix, .gz .zst .lz4 are read
  std::string output = "-";         // as SortOptions; likewise compressed by suffix
  std::uint64_t memory_bytes = 0;   // -S
  std::vector<std::string> scratch_dirs;  // -T; one or more
  unsigned parallel = 0;                  // threads; 0: as many as there are processors
  unsigned batch_size = 0;                // most runs merged at once; 0: as memory allows
  bool unique = false;                    // of records with equal keys, the first
  bool count = false;  // with unique: each behind the number of equal ones (uniq -c)
  std::optional<std::size_t> sum_column;  // with unique: field (from 0) that becomes the sum
  std::optional<std::uint64_t> limit;     // only the first so many records of the output
  bool merge_only = false;                // -m
  Codec temp_codec = Codec::none;         // of scratch blocks
  int temp_level = 0;                     // 0: the codec's own
  std::string compress_program;           // --compress-program: filters scratch blocks; empty: none
  io::Backend backend = io::Backend::automatic;
  io::IoService::Factory queue_factory;  // for tests
  Progress* progress = nullptr;          // may be null
};

// Sorts (or, with merge_only, merges). When it returns, the output is complete and checked; when it
// throws Error, the output does not exist or is what it was before (streams excepted). In the
// report, records_out counts what was written (a header not), skipped what was malformed.
SortReport text_sort(const TextSortOptions& options);
SortPlan plan_text_sort(const TextSortOptions& options);

// First record that is out of order (with `unique`: not strictly ascending); options.inputs has one
// file.
struct TextOrderCheck {
  bool ordered = true;
  std::uint64_t record = 0;  // number, from 0
  std::string text;          // the record
};
TextOrderCheck check_text_order(const TextSortOptions& options);

}  // namespace xxl
