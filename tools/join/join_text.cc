// xxl join of text: lines, and rows of CSV and TSV.
#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "base/error.h"
#include "cli/devices.h"
#include "engine/join/text_join.h"
#include "join/csv_join_rows.h"
#include "join/join_shared.h"
#include "record/csv_keys.h"
#include "record/field_keys.h"
#include "record/line_order.h"
#include "report/time_line_file.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

// -1, -2 and -j, or --key and its kin.
void refuse_both_kinds_of_keys(const JoinArguments& arguments, std::size_t side) {
  if (!arguments.fields[side] || key_specs(arguments.options, side).empty()) return;
  throw_usage(arguments.options.command(), "-1, -2 and -j exclude --key, --key1 and --key2");
}

void refuse_uneven_keys(const ParsedOptions& options, std::size_t r, std::size_t s) {
  if (r == s) return;
  throw_usage(options.command(), "R has a key of " + std::to_string(r) + " parts, S one of " +
                                     std::to_string(s) + ": they must be alike");
}

JoinShape shape_option(const JoinArguments& arguments, JoinKind kind) {
  const ParsedOptions& options = arguments.options;
  const bool has_letters = options.has("-a") || options.has("-v");
  if (has_letters && options.has("how")) {
    throw_usage(options.command(), "--how excludes -a and -v");
  }
  return has_letters ? arguments.shape : shape_of(kind);
}

// Of reports.
std::string shape_text(const JoinArguments& arguments) {
  const ParsedOptions& options = arguments.options;
  if (!options.has("-a") && !options.has("-v")) return options.word("how", "inner");
  const JoinShape& shape = arguments.shape;
  for (const auto& [name, other] :
       {std::pair{"left", JoinKind::left}, std::pair{"right", JoinKind::right},
        std::pair{"full", JoinKind::full}}) {
    if (shape == shape_of(other)) return name;
  }
  if (shape.unmatched_r && shape.unmatched_s) return "unmatched of R and S";
  return shape.unmatched_r ? "unmatched of R" : "unmatched of S";
}

bool empty_keys_match(const ParsedOptions& options) {
  return options.word("empty-keys", "equal") == "equal";
}

bool takes_records_of_r(const JoinShape& shape, const ParsedOptions& options) {
  return options.has("how") && !shape.pairs;
}

// Lines

std::vector<std::size_t> key_fields(const JoinArguments& arguments, std::size_t side) {
  refuse_both_kinds_of_keys(arguments, side);
  std::vector<std::size_t> fields;
  for (const std::string& spec : key_specs(arguments.options, side)) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(spec.data(), spec.data() + spec.size(), number);
    if (error != std::errc{} || end != spec.data() + spec.size() || number == 0) {
      throw_usage(arguments.options.command(),
                  "'" + spec + "' is no key of lines: give the number of a field, from 1");
    }
    fields.push_back(number - 1);
  }
  if (fields.empty()) fields.push_back(arguments.fields[side].value_or(0));
  return fields;
}

void set_lines(const JoinArguments& arguments, TextJoinOptions& join) {
  const auto format = std::make_shared<LineRowFormat>();
  format->syntax = arguments.syntax;
  format->fields = arguments.row;
  format->filler = arguments.filler;
  const ByteClasses classes = current_byte_classes();
  if (arguments.auto_row) format->field_counts.emplace();
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    format->key_fields[side] = key_fields(arguments, side);
    join.keys[side] = make_field_keys({.syntax = arguments.syntax,
                                       .fields = format->key_fields[side],
                                       .ignore_case = arguments.ignore_case});
    if (!arguments.auto_row) continue;
    join.first_record[side] = [format, side, classes](std::string_view line) {
      LineFields fields(format->syntax, classes);
      fields.parse(line);
      (*format->field_counts)[side] = fields.size();
    };
  }
  refuse_uneven_keys(arguments.options, format->key_fields[0].size(), format->key_fields[1].size());
  join.syntax.terminator = arguments.terminator;
  if (!empty_keys_match(arguments.options)) {
    join.matches_nothing = [format, classes](std::string_view line) {
      LineFields fields(format->syntax, classes);
      fields.parse(line);
      const auto& key = format->key_fields[0];
      return std::any_of(key.begin(), key.end(), [&](std::size_t field) {
        return field >= fields.size() || fields[field].empty();
      });
    };
  }
  if (takes_records_of_r(join.shape, arguments.options)) {
    if (!arguments.row.empty() || arguments.auto_row || arguments.filler) {
      throw_usage(
          arguments.options.command(),
          "rows of semi and anti joins are lines of R as they are: -o and -e have no effect");
    }
    join.make_rows = [] { return std::make_unique<RecordsOfR>(); };
    join.header_row = [](const auto& headers) { return headers[0].value_or(""); };
    return;
  }
  join.make_rows = [format] { return std::make_unique<LineRows>(*format); };
  join.header_row = [format](const auto& headers) {
    LineRows rows(*format);
    std::string row;
    if (headers[0] && headers[1]) {
      rows.set_r(*headers[0]);
      rows.append_pair(*headers[1], row);
    } else {
      rows.append_alone(headers[0] ? JoinSide::r : JoinSide::s, *headers[headers[0] ? 0 : 1], row);
    }
    return row;
  };
}

// Rows

// The rows of one side: names of columns are looked up in a header, and the number of columns is
// known from the first row.
struct RowSide {
  CsvOrder order;
  std::shared_ptr<const CsvKeys> keys;
  std::size_t width = 0;                // 0: not known
  std::optional<bool> carriage_return;  // at the end of the first row, if there is one

  void make() { keys = make_csv_keys(order); }

  // What is wrong with a row.
  std::optional<std::string> check(std::string_view row, bool checks_width) const {
    auto fault = keys->check(row);
    if (fault || !checks_width || width == 0) return fault;
    thread_local RowFields fields;
    fields.parse(row, order.separator);
    if (fields.size() <= width) return fault;
    return "the row has " + std::to_string(fields.size()) + " columns, the first one has " +
           std::to_string(width);
  }
};

using RowSides = std::array<RowSide, kJoinSides>;

CsvOrder csv_order(const JoinArguments& arguments, std::size_t side) {
  const ParsedOptions& options = arguments.options;
  refuse_both_kinds_of_keys(arguments, side);
  CsvOrder order;
  order.separator = options.value("record", "") == "tsv" ? '\t' : ',';
  if (arguments.syntax.separator) order.separator = row_separator(*arguments.syntax.separator);
  for (const std::string& spec : key_specs(options, side)) {
    order.keys.push_back(parse_csv_key(spec));
  }
  if (order.keys.empty()) {
    CsvKey key;
    key.column.index = arguments.fields[side].value_or(0);
    order.keys.push_back(key);
  }
  if (needs_header(order) && !options.has("header")) {
    throw_usage(options.command(), "naming a column requires --header; by number: --key=2:number");
  }
  return order;
}

void check_header(std::string_view header, char separator, const std::string& path) {
  RowFields fields;
  fields.parse(without_byte_order_mark(header), separator);
  if (!fields.fault()) return;
  throw Error(ErrorCode::bad_input, "the header is malformed: " + fields.fault().describe(), path,
              0);
}

void refuse_different_types(const ParsedOptions& options, const RowSides& sides) {
  refuse_uneven_keys(options, sides[0].order.keys.size(), sides[1].order.keys.size());
  for (std::size_t i = 0; i < sides[0].order.keys.size(); ++i) {
    const CsvKey& r = sides[0].order.keys[i];
    const CsvKey& s = sides[1].order.keys[i];
    if (r.type == s.type && r.descending == s.descending) continue;
    throw_usage(options.command(), "part " + std::to_string(i + 1) +
                                       " of the key has one type or direction in R and another in "
                                       "S: they must be alike");
  }
}

std::array<std::string, kJoinSides> suffixes_option(const ParsedOptions& options) {
  if (options.has("suffixes") && !options.has("header")) {
    throw_usage(options.command(), "--suffixes is for names of columns: it requires --header");
  }
  const std::string text = options.value("suffixes", "_1,_2");
  const std::size_t comma = text.find(',');
  if (comma == text.npos || text.find(',', comma + 1) != text.npos) {
    throw_usage(options.command(), "--suffixes=" + text + ": give two, as in --suffixes=_1,_2");
  }
  if (text.substr(0, comma) == text.substr(comma + 1)) {
    throw_usage(options.command(), "--suffixes=" + text + " do not tell the columns apart");
  }
  return {text.substr(0, comma), text.substr(comma + 1)};
}

CsvRowFormat row_format(const RowSides& sides, const std::string& filler) {
  CsvRowFormat format;
  format.separator = sides[0].order.separator;
  format.filler = filler;
  // As R's rows do.
  format.carriage_return =
      sides[0].carriage_return.value_or(sides[1].carriage_return.value_or(false));
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    for (const CsvKey& key : sides[side].order.keys) {
      format.key_columns[side].push_back(key.column.index);
    }
    format.widths[side] = sides[side].width;
  }
  return format;
}

void set_rows(const JoinArguments& arguments, TextJoinOptions& join) {
  const ParsedOptions& options = arguments.options;
  const auto sides = std::make_shared<RowSides>();
  const bool as_they_are = takes_records_of_r(join.shape, options);
  if (as_they_are && (arguments.filler || options.has("suffixes"))) {
    throw_usage(options.command(),
                "rows of semi and anti joins are rows of R as they are: -e and --suffixes have no "
                "effect");
  }
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    RowSide& side = (*sides)[i];
    side.order = csv_order(arguments, i);
    if (options.has("header")) {
      join.keys_of_header[i] = [sides, i, path = join.inputs[i]](std::string_view header) {
        check_header(header, (*sides)[i].order.separator, path);
        resolve_columns((*sides)[i].order, header, path);
        (*sides)[i].make();
        return (*sides)[i].keys;
      };
    } else {
      side.make();
      join.keys[i] = side.keys;
    }
    join.first_record[i] = [sides, i, path = join.inputs[i],
                            has_header = options.has("header")](std::string_view row) {
      RowFields fields;
      fields.parse(without_byte_order_mark(row), (*sides)[i].order.separator);
      if (fields.fault() && !has_header) {
        throw Error(ErrorCode::bad_input,
                    "the first row is malformed, and it says how many columns there are", path, 0);
      }
      (*sides)[i].width = fields.fault() ? 0 : fields.size();
      (*sides)[i].carriage_return = row.ends_with('\r');
    };
    join.malformed[i] = [sides, i, as_they_are](std::string_view row) {
      return (*sides)[i].check(row, !as_they_are);
    };
  }
  refuse_different_types(options, *sides);
  join.syntax.quoted = true;
  join.syntax.separator = (*sides)[0].order.separator;
  join.syntax.skip_malformed = options.word("malformed", "error") == "skip";
  if (!empty_keys_match(options)) {
    join.matches_nothing = [sides](std::string_view row) {
      const CsvOrder& order = (*sides)[0].order;
      return std::any_of(order.keys.begin(), order.keys.end(), [&](const CsvKey& key) {
        return field_content(row, order.separator, key.column.index).empty();
      });
    };
  }
  const auto suffixes = suffixes_option(options);
  if (as_they_are) {
    join.make_rows = [] { return std::make_unique<RecordsOfR>(); };
    join.header_row = [](const auto& headers) { return headers[0].value_or(""); };
    return;
  }
  const std::string filler = arguments.filler.value_or("");
  join.make_rows = [sides, filler] {
    return std::make_unique<CsvJoinRows>(row_format(*sides, filler));
  };
  join.header_row = [sides, filler, suffixes](const auto& headers) {
    return joined_header(row_format(*sides, filler), headers, suffixes);
  };
}

void refuse_gpus(const ParsedOptions& options, const DeviceChoice& device) {
  if (device.acceleration != Acceleration::always) return;
  throw_usage(options.command(),
              "--device=" + options.value("device", "") + ": text is joined on the CPU");
}

void refuse_gpu_options(const ParsedOptions& options) {
  for (const char* option : {"gpu-memory", "multi-gpu"}) {
    if (options.has(option)) {
      throw_usage(options.command(), std::string("--") + option + ": text is joined on the CPU");
    }
  }
}

}  // namespace

int join_text(const Caller& caller, const JoinArguments& arguments) {
  const ParsedOptions& options = arguments.options;
  TextJoinOptions join;
  set_join_options(arguments, join);
  join.shape = shape_option(arguments, join.kind);
  join.syntax.header = options.has("header");
  const std::string record = options.value("record", "lines");
  record == "lines" ? set_lines(arguments, join) : set_rows(arguments, join);
  TimeLineFile time_line_file(options.value("time-line", ""), join.output);
  join.time_line = time_line_file.time_line();
  refuse_gpu_options(options);
  refuse_gpus(options, device_option(options, join.time_line));
  const JoinSubject subject{.inputs = join.inputs,
                            .records = {record, record},
                            .kind = shape_text(arguments),
                            .output = join.count_only ? "" : join.output,
                            .scratch_dirs = join.scratch_dirs};
  const JoinRunner runner{[&] { return plan_text_join(join); },
                          [&] {
                            const JoinReport report = text_join(join);
                            time_line_file.write();
                            return report;
                          }};
  return run_join_reports(caller, arguments, join, subject, runner);
}

}  // namespace xxl::cli
