// xxl shuf: a general sort by random tags (docs/internals/shuf.md).
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "base/checksum.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/input_format.h"
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

// --limit, and -n: of several numbers the least counts, as in shuf(1).
void set_head_count(const ParsedOptions& options, SortSpec& spec) {
  for (const std::string& text : options.values("head-count")) {
    const std::uint64_t count = parse_count(text, "-n");
    spec.limit = std::min(spec.limit.value_or(count), count);
  }
}

}  // namespace

int run_shuf(const Caller& caller, ParsedOptions options) {
  resolve_format(caller, options);
  const std::string record = options.value("format", "lines");
  if (is_columns(record)) {
    throw_usage(
        options.command(),
        "shuf is for lines, rows of CSV and TSV and binary records, not for --format=" + record);
  }
  SortSpec shuffle = sort_spec(caller, options);
  set_head_count(options, shuffle);
  shuffle.shuffle_seed = seed_option(options);
  refuse_options_of_others(options, scope_of(text_kind(record)));
  return run_sort_job(caller, options, shuffle);
}

}  // namespace xxl::cli
