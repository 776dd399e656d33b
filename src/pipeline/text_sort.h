// Sorting lines and rows of text, of any size and number: the public entry.
//
// How it works: docs/text.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "base/time_line.h"
#include "io/codec.h"
#include "io/io_queue.h"
#include "pipeline/external_sort.h"
#include "record/group_fold.h"
#include "record/key_extractor.h"
#include "record/text_syntax.h"
#include "sort/accelerator.h"

namespace xxl {

struct TextSortOptions {
  std::shared_ptr<const KeyExtractor> keys;
  // With a header: gets that of the first input and returns the keys, in place of `keys`. May throw
  // Error. If set, the header of every input is checked to be the same.
  std::function<std::shared_ptr<const KeyExtractor>(std::string_view header)> keys_of_header;
  // With a header: what is written in its place; may be empty, then it is written as it was read.
  std::function<std::string(std::string_view header)> header_written;
  // Gets the first record of each input that is no header, before any is looked at; may be empty.
  std::function<void(std::string_view record)> first_record;
  // Says what is wrong with a record, or nothing; may be empty. From many threads.
  std::function<std::optional<std::string>(std::string_view record)> malformed;
  TextSyntax syntax;
  std::vector<std::string> inputs;   // "-" is standard input; by suffix, .gz .zst .lz4 are read
  std::string output = "-";          // as SortOptions; likewise compressed by suffix
  bool compressed_by_suffix = true;  // false: names say nothing, all files are taken as they lie
  std::uint64_t memory_bytes = 0;    // -S
  std::vector<std::string> scratch_dirs;  // -T; one or more
  unsigned parallel = 0;                  // threads; 0: as many as there are processors
  unsigned batch_size = 0;                // most runs merged at once; 0: as memory allows
  bool unique = false;                    // of records with equal keys, the first
  // With unique: makes what folds the records of equal keys to one (--count, --sum); may be empty.
  std::function<std::unique_ptr<GroupFold>()> fold;
  std::optional<std::uint64_t> limit;  // only the first so many records of the output
  bool merge_only = false;             // -m
  bool check_merged = true;            // -m of an input that is not in order is an error
  Codec temp_codec = Codec::none;      // of scratch blocks
  int temp_level = 0;                  // 0: the codec's own
  std::string compress_program;        // --compress-program: filters scratch blocks; empty: none
  // Called once, from any thread, if that cannot be run: the sort goes on without it. Empty: that
  // is an error.
  std::function<void(const Error&)> on_no_compress_program;
  Accelerator* accelerator = nullptr;  // used as `acceleration` says; may be null with `never`
  Acceleration acceleration = Acceleration::never;
  io::Backend backend = io::Backend::automatic;
  io::IoService::Factory queue_factory;          // for tests
  std::optional<std::size_t> spare_table_bytes;  // of TextPlanInput; for tests
  Progress* progress = nullptr;                  // may be null
  TimeLine* time_line = nullptr;                 // what was done when; may be null
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
