#include "job/files/row_sort.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quote.h"
#include "base/same_file.h"
#include "base/units.h"
#include "job/files/text_kind.h"
#include "job/hive_name.h"
#include "record/csv_keys.h"
#include "record/csv_rows.h"
#include "record/csv_spec.h"
#include "record/grouped_keys.h"
#include "record/row_fold.h"

namespace xxl {
namespace {

// The keys, once they are known: names of columns are looked up in a header.
struct Keys {
  CsvOrder order;
  std::optional<CsvOrder> per;  // of groups, in front of it
  std::vector<std::string> names_of_groups;
  std::shared_ptr<const CsvKeys> made;
  std::optional<std::size_t> fields;             // none before the first row; 0: that is malformed
  std::shared_ptr<const KeyExtractor> sorts_by;  // that, and within groups by values
  std::string column_of_parts;

  void make() {
    made = make_csv_keys(order);
    sorts_by = made;
    if (per) {
      sorts_by = std::make_shared<GroupedKeys>(make_csv_keys(*per), made);
      CsvOrder all = order;
      all.keys.insert(all.keys.begin(), per->keys.begin(), per->keys.end());
      if (all.fields.json) number_members(all);
      made = make_csv_keys(all);
      return;
    }
    if (!order.group) {
      check_folds(order);
      check_folds_keep_key(order);
      return;
    }
    if (std::vector<CsvKey> within = keys_within_groups(order); !within.empty()) {
      CsvOrder order_within = order;
      order_within.keys = std::move(within);
      order_within.folds.clear();
      sorts_by = std::make_shared<GroupedKeys>(made, make_csv_keys(order_within));
    }
  }
};

// After as much text, a quote that is not closed is known as a stray one. It is a small part of -S,
// as all inputs of a merge may have one at the same time.
constexpr std::uint64_t kMostOpenBytes = kMiB;
constexpr std::uint64_t kMostOpenPart = 16;

// Of the memory of -S, for one field of --collect: each thread may be making one.
constexpr std::uint64_t kCollectedPart = 16;

// A line of JSON is at most this part of -S: each thread may be reading one, and takes several
// times its size (json_members.h).
constexpr std::uint64_t kJsonPart = 128;

// Sorts by `key` first, and makes it the key of parts.
void part_by(const CsvKey& key, const std::shared_ptr<Keys>& keys, GeneralSortOptions& sort) {
  std::vector<CsvKey>& all = keys->order.keys;
  if (all.empty() || all.front() != key) all.insert(all.begin(), key);
  sort.keys_of_parts = [keys] {
    CsvOrder of_parts = keys->order;
    of_parts.keys.resize(1);
    of_parts.folds.clear();
    if (first_named(of_parts) != nullptr) {  // there is no header, and no row
      of_parts.keys.front().column.index = 0;
    }
    return key_of_parts(keys->column_of_parts, of_parts);
  };
  keys->column_of_parts = name_of_column(key.column);
}

void check_no_column_is_named_count(const CsvOrder& order) {
  for (const CsvFold& fold : order.folds) {
    if (fold.name != kCountColumn) continue;
    throw Error(ErrorCode::usage, "--count makes a column '" + fold.name + "': give that of --" +
                                      std::string(name_of(fold.kind)) + " another name");
  }
}

std::vector<JsonMembers::Path> paths_of_keys(const CsvOrder& order) {
  std::vector<JsonMembers::Path> paths;
  if (!order.group) return paths;
  for (const CsvKey& key : order.keys) paths.push_back(key.column.path);
  return paths;
}

// Without a header, the first row says how many fields rows have.
void set_fields(Keys& keys, std::string_view first_row) {
  if (keys.fields) return;
  std::size_t count = 0;
  const RowFault fault = count_fields(first_row, keys.order.fields, count);
  keys.fields = fault ? 0 : count;
}

}  // namespace

std::string name_of_column(const CsvColumn& column, std::string_view header, FieldSyntax syntax) {
  if (!column.name.empty()) return column.name;
  std::string name;
  header = names_row(header, syntax);
  visit_fields(header, syntax, [&](std::size_t at, const FieldSpan& field) {
    if (at == column.index) field.append_value(name);
    return at < column.index;
  });
  return name.empty() ? std::to_string(column.index + 1) : name;
}

PartKey key_of_parts(const std::string& column, const CsvOrder& order) {
  const std::shared_ptr<const CsvKeys> keys = make_csv_keys(order);
  return {keys, [column, keys](std::string_view row) {
            return hive_name(column, keys->first_value(row));
          }};
}

std::optional<RecordFault> fault_of(std::optional<CsvFault> fault, MalformedRows malformed,
                                    RowUse use) {
  using Kind = CsvFault::Kind;
  if (!fault) return {};
  RecordFault of_row{std::move(fault->what)};
  if (malformed == MalformedRows::skip) of_row.fate = RecordFault::Fate::skip;
  if (malformed == MalformedRows::skip || malformed == MalformedRows::error) return of_row;
  const bool keeps_all = malformed == MalformedRows::keep;
  bool keeps = false;
  switch (fault->kind) {
    case Kind::syntax:
      keeps = keeps_all && use == RowUse::moved;
      break;
    case Kind::no_column:
      keeps = keeps_all && use != RowUse::folded;
      break;
    case Kind::value:
      keeps = keeps_all;
      break;
    case Kind::fewer_fields:
      keeps = true;
      break;
    case Kind::more_fields:
      keeps = use != RowUse::joined;
      break;
  }
  if (keeps) {
    of_row.fate = RecordFault::Fate::keep;
  } else if (keeps_all) {
    of_row.what += " (such a row cannot be kept here: --malformed=skip leaves it out)";
  }
  return of_row;
}

void set_malformed(const JobOptions& job, std::span<const std::string> inputs,
                   MalformedRows malformed, const RejectOptions& given, RecordSyntax& syntax,
                   RejectOptions& rejects) {
  syntax.tolerant = malformed == MalformedRows::skip || malformed == MalformedRows::keep;
  rejects = given;
  if (malformed != MalformedRows::skip && (!given.rejects.empty() || given.max_rejects)) {
    throw Error(ErrorCode::usage,
                std::string(given.rejects.empty() ? "--max-rejects" : "--rejects") +
                    " needs --malformed=skip, which leaves rows out");
  }
  if (given.rejects.empty()) return;
  const std::filesystem::path directory = std::filesystem::path(given.rejects).parent_path();
  const auto refuse_if = [&](const std::string& other, const std::string& what) {
    if (other == "-") return;
    const bool is_inside = is_same_file(directory.empty() ? "." : directory.string(), other);
    if (!is_inside && !is_same_file(given.rejects, other)) return;
    throw Error(ErrorCode::usage,
                (is_inside ? "is in " : "is ") + what + ": give --rejects another name",
                given.rejects);
  };
  refuse_if(job.output, "the output already");
  for (const std::string& input : inputs) refuse_if(input, "an input");
}

void check_names_of_columns(const CsvOrder& order, bool header) {
  const CsvColumn* const named = first_named(order);
  if (header || named == nullptr) return;
  if (named->name.empty()) {
    throw Error(ErrorCode::usage,
                "columns up to the last, or counted from it, require --header: it says how many "
                "there are");
  }
  throw Error(ErrorCode::usage, "column " + quote_controls(named->name) +
                                    ": naming one requires --header; without it, columns have "
                                    "numbers, from 1, as in --key=2:number");
}

void set_row_syntax(const CsvOrder& order, const JobOptions& job, RecordSyntax& syntax) {
  syntax.rows = true;
  syntax.fields = order.fields;
  syntax.most_open_bytes =
      static_cast<std::size_t>(std::min(kMostOpenBytes, job.given_memory_bytes() / kMostOpenPart));
}

void set_rows(const RowSort& rows, GeneralSortOptions& sort) {
  if (rows.order.group && !sort.part_by.empty()) {
    throw Error(ErrorCode::usage, "groups cannot be cut into parts by a column: sort the output");
  }
  if (rows.count && sort.syntax.header) check_no_column_is_named_count(rows.order);
  const auto keys = std::make_shared<Keys>();
  keys->order = rows.order;
  keys->order.count = rows.count;
  const bool json = rows.order.fields.json;
  if (!rows.per.empty()) {
    keys->per = rows.order;
    keys->per->keys = rows.per;
    if (json) number_members(*keys->per);
    check_names_of_columns(*keys->per, sort.syntax.header);
    sort.unique = sort.keys_have_groups = true;
    sort.most_of_group = std::exchange(sort.limit, std::nullopt).value_or(1);
  }
  if (!sort.part_by.empty()) {
    part_by(parse_csv_key(sort.part_by, rows.reverse, column_types(rows.order.fields)), keys, sort);
  }
  if (json) {
    number_members(keys->order);
    keys->order.most_json_bytes = sort.given_memory_bytes() / kJsonPart;
    if (keys->per) keys->per->most_json_bytes = keys->order.most_json_bytes;
    keys->fields = 0;
    if (keys->order.group) keys->names_of_groups = names_of_groups(keys->order, {});
  }
  check_names_of_columns(keys->order, sort.syntax.header);
  sort.key_text = [keys](std::string_view row) { return key_text(keys->order, row); };
  set_row_syntax(rows.order, sort, sort.syntax);
  if (sort.syntax.header) {
    sort.keys_of_header = [keys, path = sort.inputs.front()](std::string_view header) {
      resolve_columns(keys->order, header, path);
      if (keys->per) resolve_columns(*keys->per, header, path);
      keys->fields = keys->order.header_columns;
      if (!keys->order.keys.empty()) {
        keys->column_of_parts =
            name_of_column(keys->order.keys.front().column, header, keys->order.fields);
      }
      keys->make();
      if (keys->order.group) keys->names_of_groups = names_of_groups(keys->order, header);
      return keys->sorts_by;
    };
  } else {
    keys->make();
    sort.keys = keys->sorts_by;
    sort.first_record = [keys](std::string_view row) { set_fields(*keys, row); };
  }
  set_malformed(sort, sort.inputs, rows.order.malformed, rows.rejects, sort.syntax, sort);
  sort.keeps_malformed = rows.order.malformed == MalformedRows::keep;
  const bool group = rows.order.group;
  const bool folds = rows.count || group || !rows.order.folds.empty();
  sort.malformed = [keys, use = folds ? RowUse::folded : RowUse::moved](std::string_view row) {
    return fault_of(keys->made->check(row, keys->fields.value_or(0)), keys->order.malformed, use);
  };
  if (json) sort.missing_members = [keys] { return keys->made->missing_members(); };
  if (!folds) return;
  sort.unique = true;
  sort.keys_have_groups |= group && std::ranges::any_of(rows.order.folds, [](const CsvFold& fold) {
                             return needs_order_of_values(fold.kind);
                           });
  if (group && rows.order.keys.empty()) {
    sort.folds_to_one = true;
    sort.merge_only |= !sort.keys_have_groups;  // all are in order
  }
  const auto fold_options = [keys, most_bytes = sort.memory_bytes / kCollectedPart] {
    const CsvOrder& order = keys->order;
    std::optional<std::vector<std::size_t>> keys_of_group;
    if (order.group) {
      keys_of_group.emplace();
      for (const CsvKey& key : order.keys) keys_of_group->push_back(key.column.index);
    }
    return RowFoldOptions{
        .fields = order.fields,
        .folds = order.folds,
        .nulls = order.nulls,
        .count = order.count,
        .keys_of_group = std::move(keys_of_group),
        .paths_of_keys = paths_of_keys(order),
        .names_of_group = keys->names_of_groups,
        .header_columns = order.header_columns,
        .most_collected_bytes = most_bytes,
        .most_json_bytes = order.most_json_bytes,
        .keeps_malformed = order.malformed == MalformedRows::keep,
        .key_text = [keys](std::string_view row) { return key_text(keys->order, row); }};
  };
  sort.fold = [fold_options] { return make_row_fold(fold_options()); };
  sort.header_of_output = [fold_options](std::optional<std::string> header) {
    if (header) header = folded_header(*header, fold_options());
    return header;
  };
}

}  // namespace xxl
