#include "engine/files/row_sort.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "record/csv_keys.h"
#include "record/group_folds.h"

namespace xxl {
namespace {

// The keys, once they are known: names of columns are looked up in a header.
struct Keys {
  CsvOrder order;
  std::shared_ptr<const CsvKeys> made;

  void make() { made = make_csv_keys(order); }
};

// Sorts by `key` first, and makes it the key of parts.
void part_by(const CsvKey& key, const std::shared_ptr<Keys>& keys, TextSortOptions& sort) {
  std::vector<CsvKey>& all = keys->order.keys;
  if (all.empty() || all.front().column != key.column) all.insert(all.begin(), key);
  sort.keys_of_parts = [keys] {
    CsvOrder of_parts = keys->order;
    of_parts.keys.resize(1);
    of_parts.sum.reset();
    return make_csv_keys(of_parts);
  };
}

// The fields of the key, or the whole row.
std::string key_text(const CsvOrder& order, std::string_view row) {
  std::string text;
  for (const CsvKey& key : order.keys) {
    if (!text.empty()) text += order.separator;
    text += field_content(row, order.separator, key.column.index);
  }
  return order.keys.empty() ? std::string(row) : text;
}

}  // namespace

void check_names_of_columns(const CsvOrder& order, bool header) {
  if (header || !needs_header(order)) return;
  throw Error(ErrorCode::usage, "naming a column requires --header; by number: --key=2:number");
}

void set_rows(const RowSort& rows, TextSortOptions& sort) {
  check_names_of_columns(rows.order, sort.syntax.header);
  const auto keys = std::make_shared<Keys>();
  keys->order = rows.order;
  if (!sort.part_by.empty()) part_by(parse_csv_key(sort.part_by), keys, sort);
  sort.key_text = [keys](std::string_view row) { return key_text(keys->order, row); };
  sort.syntax.quoted = true;
  sort.syntax.separator = rows.order.separator;
  if (sort.syntax.header) {
    sort.keys_of_header = [keys, path = sort.inputs.front()](std::string_view header) {
      resolve_columns(keys->order, header, path);
      keys->make();
      return keys->made;
    };
  } else {
    keys->make();
    sort.keys = keys->made;
  }
  sort.malformed = [keys](std::string_view row) { return keys->made->check(row); };
  if (rows.count) {
    sort.header_written = [separator = rows.order.separator](std::string_view header) {
      std::string row;
      append_row_with_column(header, separator, "count", row);
      return row;
    };
  }
  if (!rows.count && !rows.order.sum) return;
  sort.unique = true;
  sort.fold = [keys, count = rows.count] {
    const CsvOrder& order = keys->order;
    return make_row_fold({.separator = order.separator,
                          .count = count,
                          .sum = order.sum ? std::optional(order.sum->index) : std::nullopt});
  };
}

}  // namespace xxl
