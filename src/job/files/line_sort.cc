#include "job/files/line_sort.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "job/hive_name.h"
#include "record/line_keys.h"

namespace xxl {
namespace {

// A line as --count writes it, without the number.
std::string_view behind_count(std::string_view record) {
  record.remove_prefix(record.find_first_not_of(' '));
  record.remove_prefix(record.find(' ') + 1);
  return record;
}

// Of lines as --count writes them: the key of what is behind the number.
class CountedLineKey final : public KeyExtractor {
 public:
  explicit CountedLineKey(std::shared_ptr<const KeyExtractor> keys) : keys_(std::move(keys)) {}

  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    keys_->append_key(behind_count(record), limit, key);
  }

 private:
  const std::shared_ptr<const KeyExtractor> keys_;
};

}  // namespace

void set_parts_of_lines(LineOrder& order, GeneralSortOptions& sort) {
  const std::string& field = sort.part_by;
  if (field.empty()) return;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!std::all_of(field.begin(), field.end(), is_digit)) {
    throw Error(ErrorCode::usage, "--part-by of lines is the number of a field, as in --part-by=2");
  }
  order.fields.insert(order.fields.begin(), parse_line_key(field + "," + field));
  LineOrder of_parts = order;
  of_parts.fields.resize(1);
  of_parts.stable = true;  // without the last resort
  std::shared_ptr<const KeyExtractor> keys = make_line_keys(of_parts);
  if (sort.fold) keys = std::make_shared<CountedLineKey>(std::move(keys));
  std::size_t number = 0;  // one that is too large stays 0: no line has that field
  std::from_chars(field.data(), field.data() + field.size(), number);
  std::function<std::string(std::string_view)> directory =
      directory_of_line(field, {.separator = order.separator}, number - 1);
  if (sort.fold) {
    directory = [of_line = std::move(directory)](std::string_view record) {
      return of_line(behind_count(record));
    };
  }
  sort.keys_of_parts = [keys, directory] { return PartKey{keys, directory}; };
}

std::function<std::string(std::string_view)> directory_of_line(const std::string& name,
                                                               const LineFieldSyntax& syntax,
                                                               std::size_t field) {
  return [=, classes = current_byte_classes()](std::string_view line) {
    LineFields fields(syntax, classes);
    fields.parse(line);
    return hive_name(name, fields[field]);
  };
}

}  // namespace xxl
