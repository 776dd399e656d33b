// Sorts of files as the public header has them: each becomes a sort of text or of binary records.
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/files/file_jobs.h"
#include "engine/files/line_sort.h"
#include "engine/files/row_sort.h"
#include "engine/files/text_kind.h"
#include "engine/job_defaults.h"
#include "engine/record_sort/external_sort.h"
#include "engine/text_sort/text_sort.h"
#include "record/fold_kind.h"
#include "record/key_text.h"
#include "record/line_counter.h"
#include "record/line_keys.h"
#include "record/line_order.h"
#include "xxl/sort.h"

namespace xxl {
namespace {

void refuse_members_of_others(const SortJob& job, TextKind kind) {
  const bool text = kind != TextKind::none;
  const bool lines = kind == TextKind::lines;
  const bool rows = kind == TextKind::rows;
  const MemberCheck members[] = {
      {"field_separator", !job.field_separator.empty(), text},
      {"header", job.header, text},
      {"sums", !job.sums.empty(), !lines},
      {"folds", !job.folds.empty(), !lines},
      {"flags", !job.flags.empty(), lines},
      {"stable", job.stable, lines},
      {"zero_terminated", job.zero_terminated, lines},
      {"empty_last", job.empty_last, rows},
      {"invalid", job.invalid != "error", rows},
      {"skip_malformed", job.skip_malformed, rows},
      {"quotes", !job.quotes, rows},
  };
  check_members("SortJob", job.record, members);
}

template <class Options>
Options options_of(const SortJob& job, const JobMeans& means) {
  auto options = engine_options<Options>(job, means);
  options.record_kind = job.record;
  options.inputs = job.inputs;
  if (options.inputs.empty()) options.inputs.push_back("-");
  options.unique = job.unique;
  options.merge_only = job.merge_only;
  options.skip = job.skip;
  options.limit = job.limit;
  return options;
}

std::vector<GivenFold> folds_of(const SortJob& job) {
  std::vector<GivenFold> folds;
  for (const std::string& field : job.sums) folds.push_back({FoldKind::sum, field});
  for (const std::string& text : job.folds) {
    const std::size_t equals = text.find('=');
    const std::optional<FoldKind> kind = fold_kind(text.substr(0, equals));
    if (!kind || equals == text.npos) {
      throw Error(ErrorCode::usage, "SortJob::folds: '" + text +
                                        "' is not FOLD=FIELD, FOLD being sum, min, max, mean, "
                                        "first, last or collect");
    }
    folds.push_back({*kind, text.substr(equals + 1)});
  }
  return folds;
}

SortOptions record_options(const SortJob& job, const JobMeans& means) {
  auto options = options_of<SortOptions>(job, means);
  options.format = parse_record_format(job.record, job.keys, job.reverse, kTextKinds);
  if (!job.part_by.empty()) part_by_field(job.part_by, job.reverse, options.format);
  options.fold = parse_record_fold(folds_of(job), job.count, options.format);
  options.unique &= !options.fold.folds();
  const RecordFormat output = options.output_format();
  options.record_kind = output.name;
  options.key_text = key_text_of(output);
  return options;
}

LineOrder line_order(const SortJob& job) {
  LineOrder order;
  for (const std::string& key : job.keys) order.fields.push_back(parse_line_key(key));
  for (const char letter : job.flags) {
    if (set_line_key_flag(letter, BlankSide::both, order.flags)) continue;
    throw Error(ErrorCode::usage, std::string("SortJob::flags: unknown letter '") + letter +
                                      "', use those of \"bdfghiMnRV\"");
  }
  order.flags.reverse |= job.reverse;
  order.separator = given_separator(job.field_separator);
  order.stable = job.stable;
  order.unique = job.unique || job.count;
  auto& salt = order.random_salt;
  if (getrandom(salt.data(), salt.size(), 0) != static_cast<ssize_t>(salt.size())) {
    throw_io_error(errno, "cannot get random bytes", {});
  }
  return order;
}

CsvOrder row_order(const SortJob& job) {
  if (job.reverse && job.keys.empty() && job.part_by.empty()) {
    throw Error(ErrorCode::usage, "SortJob::reverse of rows needs keys");
  }
  CsvOrder order;
  order.fields = fields_of_rows(job.record, given_separator(job.field_separator), job.quotes);
  for (const std::string& key : job.keys) order.keys.push_back(parse_csv_key(key, job.reverse));
  order.empty_last = job.empty_last;
  const std::optional<InvalidKeys> invalid = invalid_keys_named(job.invalid);
  if (!invalid) {
    throw Error(ErrorCode::usage,
                "SortJob::invalid is error, first or last, not " + in_quotes(job.invalid));
  }
  order.invalid = *invalid;
  for (const auto& [kind, field] : folds_of(job)) {
    order.folds.push_back(parse_csv_fold(kind, field));
  }
  return order;
}

TextSortOptions text_options(const SortJob& job, const JobMeans& means, TextKind kind) {
  auto options = options_of<TextSortOptions>(job, means);
  options.syntax.header = job.header;
  options.syntax.skip_malformed = job.skip_malformed;
  options.unique |= job.count;
  if (kind == TextKind::rows) {
    set_rows({.order = row_order(job), .count = job.count, .reverse = job.reverse}, options);
    return options;
  }
  LineOrder order = line_order(job);
  if (job.count) options.fold = make_line_counter;
  set_parts_of_lines(order, options);
  options.keys = make_line_keys(order);
  options.syntax.terminator = job.zero_terminated ? '\0' : '\n';
  return options;
}

// Calls the one of the two functions that is for the job's records.
template <class OfText, class OfRecords>
auto run(const SortJob& job, const JobMeans& means, OfText&& of_text, OfRecords&& of_records) {
  const TextKind kind = text_kind(job.record);
  refuse_members_of_others(job, kind);
  if (kind == TextKind::none) return of_records(record_options(job, means));
  return of_text(text_options(job, means, kind));
}

}  // namespace

SortPlan plan_sort(const SortJob& job) {
  return run(job, {}, plan_text_sort,
             [](const SortOptions& options) { return plan_sort(options); });
}

SortReport do_job(const SortJob& job, const JobMeans& means) {
  return run(job, means, text_sort, external_sort);
}

SortReport sort_files(const SortJob& job) {
  return do_job(job, {});
}

OrderCheck check_order(const SortJob& job) {
  if (job.inputs.size() > 1 || job.merge_only || job.skip != 0 || job.limit || job.count ||
      !job.sums.empty() || !job.folds.empty()) {
    throw Error(
        ErrorCode::usage,
        "check_order takes one input, and no merge_only, skip, limit, count, sums or folds");
  }
  return run(job, {}, check_text_order,
             [](const SortOptions& options) { return check_order(options); });
}

}  // namespace xxl
