// xxl shuf: a sort of text by random tags (docs/shuf.md).
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/checksum.h"
#include "base/error.h"
#include "base/units.h"
#include "cli/command.h"
#include "engine/files/row_sort.h"
#include "engine/files/text_kind.h"
#include "record/csv_order.h"
#include "record/key_text.h"
#include "record/line_order.h"
#include "record/record_format.h"
#include "sort/columns_shared.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

// The first bytes of `source`.
PhiloxKey read_seed(const std::string& source) {
  PhiloxKey seed{};
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(source.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) throw_io_error(errno, Operation::open_input, source);
  errno = 0;
  if (std::fread(seed.data(), 1, sizeof(seed), file.get()) == sizeof(seed)) return seed;
  if (std::ferror(file.get()) != 0) throw_io_error(errno, Operation::read, source);
  throw Error(ErrorCode::bad_input,
              "--random-source needs " + std::to_string(sizeof(seed)) + " bytes", source, 0);
}

PhiloxKey seed_option(const ParsedOptions& options) {
  if (options.has("seed") && options.has("random-source")) {
    throw_usage(options.command(), "--seed excludes --random-source");
  }
  if (options.has("random-source")) return read_seed(options.value("random-source", ""));
  PhiloxKey seed{};
  if (options.has("seed")) {
    const std::string text = options.value("seed", "");
    for (std::size_t i = 0; i < seed.size(); ++i) {
      seed[i] = block_checksum(std::as_bytes(std::span(text)), i);
    }
    return seed;
  }
  if (getrandom(seed.data(), sizeof(seed), 0) != static_cast<ssize_t>(sizeof(seed))) {
    throw_io_error(errno, "cannot get random bytes", {});
  }
  return seed;
}

// --skip, and -n or --limit: of several numbers the least counts, as in shuf(1).
ResultRange range_of(const ParsedOptions& options) {
  ResultRange range = range_option(options);
  for (const std::string& text : options.values("head-count")) {
    const std::uint64_t count = parse_number(text, "-n", 0, ~std::uint64_t{0});
    range.limit = std::min(range.limit.value_or(count), count);
  }
  return range;
}

FieldSyntax fields_option(const ParsedOptions& options) {
  std::optional<FieldSeparator> given;
  if (options.has("field-separator")) {
    given = parse_separator(options.value("field-separator", ""));
  }
  return fields_of_rows(options.value("record", ""), given,
                        options.word("quote", "double") == "double");
}

TextSortOptions shuffle_options(const Caller& caller, const ParsedOptions& options) {
  TextSortOptions shuffle;
  set_job_options(options, shuffle);
  set_text_compression(caller, options, shuffle);
  static_cast<ResultRange&>(shuffle) = range_of(options);
  shuffle.inputs = input_files(options);
  shuffle.record_kind = options.value("record", "lines");
  shuffle.syntax.header = options.has("header");
  shuffle.tags = {.kind = RecordTags::Kind::random, .key = seed_option(options)};
  switch (text_kind(shuffle.record_kind)) {
    case TextKind::lines:
      refuse_options_of_others(options, Scope::lines);
      if (options.has("zero-terminated")) shuffle.syntax.terminator = '\0';
      break;
    case TextKind::rows: {
      refuse_options_of_others(options, Scope::rows);
      shuffle.syntax.skip_malformed = options.word("malformed", "error") == "skip";
      RowSort rows;
      rows.order.fields = fields_option(options);
      set_rows(rows, shuffle);
      break;
    }
    case TextKind::none: {
      refuse_options_of_others(options, Scope::all);
      const RecordFormat format = parse_record_format(shuffle.record_kind, kTextKinds);
      shuffle.syntax.record_bytes = format.record_bytes;
      shuffle.record_kind = format.name;
      shuffle.key_text = key_text_of(format);
      break;
    }
  }
  return shuffle;
}

}  // namespace

int run_shuf(const Caller& caller, const ParsedOptions& options) {
  const std::string record = options.value("record", "lines");
  if (is_columns(record)) {
    throw_usage(
        options.command(),
        "shuf is for lines, rows of CSV and TSV and binary records, not for --record=" + record);
  }
  TextSortOptions shuffle = shuffle_options(caller, options);
  return run_text_sort(caller, options, shuffle, subject_of(shuffle));
}

}  // namespace xxl::cli
