// Sorts of files: each becomes a general one or one of records of a fixed size.
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "job/files/job_spec.h"
#include "job/files/line_sort.h"
#include "job/files/row_sort.h"
#include "job/files/text_kind.h"
#include "job/fixed_sort/fixed_sort.h"
#include "job/general_sort/general_sort.h"
#include "job/general_sort/kept_order.h"
#include "job/inputs.h"
#include "job/job_defaults.h"
#include "record/csv_spec.h"
#include "record/fold_kind.h"
#include "record/format_key.h"
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
      {"separator", !job.separator.empty(), text && !is_json(job.format)},
      {"header", job.header, text && !is_json(job.format)},
      {"aggregates", !job.aggregates.empty(), !lines},
      {"flags", !job.flags.empty(), lines},
      {"stable", job.stable, lines},
      {"zero_terminated", job.zero_terminated, lines},
      {"empty_last", job.empty_last, rows},
      {"nulls", !job.nulls.empty(), rows},
      {"group", job.group, rows},
      {"malformed", !job.malformed.empty(), rows},
      {"rejects", !job.rejects.empty(), rows},
      {"max_rejects", job.max_rejects.has_value(), rows},
      {"quotes", !job.quotes, rows && !is_json(job.format)},
      {"escape", !job.escape.empty(), rows && !is_json(job.format)},
      {"comment", !job.comment.empty(), rows && !is_json(job.format)},
  };
  check_members("SortJob", job.format, members);
}

// What sorts of all records have.
template <class Options>
Options common_options(const SortSpec& spec) {
  auto options = engine_options<Options>(spec, spec);
  options.record_kind = spec.format;
  options.inputs = spec.inputs;
  if (options.inputs.empty()) options.inputs.push_back("-");
  options.unique = spec.unique;
  options.merge_only = spec.merge_only;
  options.skip = spec.skip;
  options.limit = spec.limit;
  return options;
}

std::vector<GivenFold> folds_of(const SortJob& job) {
  std::vector<GivenFold> folds;
  for (const std::string& text : job.aggregates) {
    const std::size_t equals = text.find('=');
    const std::optional<FoldKind> kind = fold_kind(text.substr(0, equals));
    const bool has_field = equals != text.npos;
    if (!kind || has_field == (kind == FoldKind::count) || (is_of_groups(*kind) && !job.group)) {
      throw Error(
          ErrorCode::usage,
          "SortJob::aggregates: '" + text +
              "' is not FOLD=FIELD, FOLD being sum, min, max, mean, first, last or collect, "
              "or with SortJob::group also median or count-distinct; or count alone");
    }
    folds.push_back({*kind, has_field ? text.substr(equals + 1) : ""});
  }
  return folds;
}

LineOrder line_order(const SortSpec& job) {
  if (job.line_order) return *job.line_order;
  LineOrder order;
  for (const std::string& key : job.keys) order.fields.push_back(parse_line_key(key));
  for (const char letter : job.flags) {
    if (set_line_key_flag(letter, BlankSide::both, order.flags)) continue;
    throw Error(ErrorCode::usage, std::string("SortJob::flags: unknown letter '") + letter +
                                      "', use those of \"bdfghiMnRV\"");
  }
  order.flags.reverse |= job.reverse;
  order.separator = given_separator(job.separator);
  order.stable = job.stable;
  auto& salt = order.random_salt;
  if (getrandom(salt.data(), salt.size(), 0) != static_cast<ssize_t>(salt.size())) {
    throw_io_error(errno, "cannot get random bytes", {});
  }
  return order;
}

CsvOrder row_order(const SortSpec& job) {
  CsvOrder order;
  order.fields = fields_of_rows(job.format, job);
  const ColumnTypes types = column_types(order.fields);
  order.keys = parse_csv_keys(job.keys, job.reverse, types);
  order.descending = job.reverse;
  const bool needs_key =
      !job.unique && !job.count && !job.group && !job.set_rule && !job.shuffle_seed;
  if (order.fields.json && needs_key && order.keys.empty() && job.part_by.empty()) {
    throw Error(ErrorCode::usage,
                "lines of JSON are sorted by their members: say by which, as in --key=user.id");
  }
  order.empty_last = job.empty_last;
  order.nulls = job.nulls;
  order.malformed = malformed_rows(job.malformed);
  for (const auto& [kind, field] : folds_of(job)) {
    order.folds.push_back(parse_csv_fold(kind, field, types));
  }
  order.group = job.group;
  if (order.fields.json && !job.group && !order.folds.empty()) {
    throw Error(ErrorCode::usage, "aggregates of JSON lines are made by xxl group");
  }
  if (job.group && job.count) order.folds.push_back(parse_csv_fold(FoldKind::count, ""));
  if (job.group && order.keys.empty() && order.folds.empty()) {
    throw Error(ErrorCode::usage, "groups need keys, or something to make of their rows");
  }
  return order;
}

void set_lines(const SortSpec& spec, GeneralSortOptions& sort) {
  sort.syntax.terminator = spec.zero_terminated ? '\0' : '\n';
  if (spec.shuffle_seed) return;
  LineOrder order = line_order(spec);
  order.unique |= sort.unique || (spec.set_rule && *spec.set_rule != GroupRule::all);
  if (spec.count) sort.fold = make_line_counter;
  set_parts_of_lines(order, sort);
  sort.keys = make_line_keys(order);
  if (!spec.set_rule || !spec.header) return;
  // The header is checked to be that of all inputs, as for rows.
  sort.keys_of_header = [keys = sort.keys](std::string_view) { return keys; };
}

void set_records(const SortSpec& spec, GeneralSortOptions& sort) {
  const RecordFormat format = format_of(spec);
  sort.syntax.record_bytes = format.record_bytes;
  sort.record_kind = format.name;
  sort.key_text = key_text_of(format);
  if (!spec.shuffle_seed) sort.keys = std::make_shared<FormatKey>(format);
}

bool is_union(GroupRule rule) {
  return rule == GroupRule::all || rule == GroupRule::first;
}

// Tags records with the number of their input.
void tag_inputs(GeneralSortOptions& sort) {
  sort.tags.kind = RecordTags::Kind::input;
  std::uint32_t number = 0;
  for (const std::string& input : std::exchange(sort.inputs, {})) {
    const std::vector<std::string> files = input_paths({input});
    sort.inputs.insert(sort.inputs.end(), files.begin(), files.end());
    sort.tags.inputs.insert(sort.tags.inputs.end(), files.size(), number++);
  }
}

// A key of a type, followed by what is left of the record.
void extend_to_record(RecordFormat& format) {
  KeyField& key = format.key.front();
  if (key.type == KeyType::bytes) {
    key.length = format.record_bytes;
  } else if (const std::size_t left = format.record_bytes - key.length; left > 0) {
    format.key.push_back({.offset = key.length, .length = left, .descending = key.descending});
  }
}

template <class OfText, class OfRecords>
auto visit(const SortSpec& spec, OfText&& of_text, OfRecords&& of_records) {
  return is_fixed(spec) ? of_records(fixed_options(spec)) : of_text(general_options(spec));
}

}  // namespace

SortSpec spec_of(const SortJob& job) {
  refuse_members_of_others(job, text_kind(job.format));
  SortSpec spec{job, {}};
  set_defaults(spec);
  return spec;
}

RecordFormat format_of(const SortSpec& spec) {
  RecordFormat format = parse_record_format(spec.format, spec.keys, spec.reverse, kTextKinds);
  if (!spec.part_by.empty()) part_by_field(spec.part_by, spec.reverse, format);
  if (spec.set_rule && spec.keys.empty()) extend_to_record(format);
  return format;
}

bool is_fixed(const SortSpec& spec) {
  return text_kind(spec.format) == TextKind::none && !spec.keep_order && !spec.shuffle_seed &&
         (!spec.set_rule || is_union(*spec.set_rule));
}

FixedSortOptions fixed_options(const SortSpec& spec) {
  auto options = common_options<FixedSortOptions>(spec);
  options.format = format_of(spec);
  options.fold = parse_record_fold(folds_of(spec), spec.count, options.format);
  options.unique &= !options.fold.folds();
  options.unique |= spec.set_rule == GroupRule::first;
  options.merge_on_accelerator = spec.merge_on_accelerator;
  const RecordFormat output = options.output_format();
  options.record_kind = output.name;
  options.key_text = key_text_of(output);
  return options;
}

GeneralSortOptions general_options(const SortSpec& spec) {
  auto options = common_options<GeneralSortOptions>(spec);
  options.syntax.header = spec.header;
  options.unique |= spec.count || spec.set_rule == GroupRule::first;
  options.check_merged = spec.check_merged;
  options.compress_program = spec.compress_program;
  options.on_no_compress_program = spec.on_no_compress_program;
  const bool tells_inputs_apart = spec.set_rule && !is_union(*spec.set_rule);
  if (tells_inputs_apart) {
    std::rotate(options.inputs.begin(), options.inputs.begin() + 1, options.inputs.end());
  }
  if (spec.shuffle_seed) options.tags = {RecordTags::Kind::random, *spec.shuffle_seed};
  switch (text_kind(spec.format)) {
    case TextKind::lines:
      set_lines(spec, options);
      break;
    case TextKind::rows:
      set_rows({.order = row_order(spec),
                .count = spec.count && !spec.group,
                .per = parse_csv_keys(
                    spec.per, false,
                    is_json(spec.format) ? ColumnTypes::of_members : ColumnTypes::of_keys),
                .reverse = spec.reverse,
                .rejects = {spec.rejects, spec.max_rejects}},
               options);
      break;
    case TextKind::none:
      set_records(spec, options);
  }
  if (spec.group_sizes != GroupSizes::all) {
    options.fold = fold_of_sizes(spec.group_sizes, std::move(options.fold));
    options.drops_groups = true;
  }
  if (tells_inputs_apart) {
    options.group_rule_of_inputs = *spec.set_rule;
    tag_inputs(options);
  }
  return options;
}

void check_usage(const SortSpec& spec) {
  visit(
      spec, [](const GeneralSortOptions&) {}, [](const FixedSortOptions&) {});
}

SortPlan plan_sort(const SortSpec& spec) {
  return visit(spec, spec.keep_order ? plan_sort_in_kept_order : plan_general_sort,
               [](const FixedSortOptions& options) { return plan_sort(options); });
}

SortReport do_job(const SortSpec& spec) {
  return visit(spec, spec.keep_order ? sort_in_kept_order : general_sort, fixed_sort);
}

OrderCheck check_order(const SortSpec& spec) {
  if (!spec.rejects.empty() || spec.max_rejects) {
    throw Error(ErrorCode::usage,
                "a check of the order writes nothing: leave out --rejects and --max-rejects");
  }
  return visit(spec, check_general_order,
               [](const FixedSortOptions& options) { return check_order(options); });
}

SortPlan plan_sort(const SortJob& job) {
  return plan_sort(spec_of(job));
}

SortReport sort_files(const SortJob& job) {
  return do_job(spec_of(job));
}

OrderCheck check_order(const SortJob& job) {
  if (job.inputs.size() > 1 || job.merge_only || job.skip != 0 || job.limit || job.count ||
      !job.aggregates.empty() || job.group) {
    throw Error(
        ErrorCode::usage,
        "check_order takes one input, and no merge_only, skip, limit, count, aggregates or group");
  }
  return check_order(spec_of(job));
}

}  // namespace xxl
