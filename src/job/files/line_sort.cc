#include "job/files/line_sort.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "record/line_keys.h"

namespace xxl {
namespace {

// Of lines as --count writes them: the key of what is behind the number.
class CountedLineKey final : public KeyExtractor {
 public:
  explicit CountedLineKey(std::shared_ptr<const KeyExtractor> keys) : keys_(std::move(keys)) {}

  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    record.remove_prefix(record.find_first_not_of(' '));
    record.remove_prefix(record.find(' ') + 1);
    keys_->append_key(record, limit, key);
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
  sort.keys_of_parts = [keys] { return keys; };
}

}  // namespace xxl
