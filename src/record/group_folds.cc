#include "record/group_folds.h"

#include <cstdint>
#include <string>

#include "base/error.h"
#include "record/csv_keys.h"
#include "record/csv_rows.h"
#include "record/decimal.h"

namespace xxl {
namespace {

class LineCounter : public GroupFold {
 public:
  void begin(std::string_view line) override {
    first_ = line;
    count_ = 1;
  }
  void add(std::string_view) override { ++count_; }
  void finish(std::string& out) override { append_counted_line(count_, first_, out); }

 private:
  std::string first_;
  std::uint64_t count_ = 0;
};

class RowFold : public GroupFold {
 public:
  explicit RowFold(const RowFoldOptions& options) : options_(options) {}

  void begin(std::string_view row) override {
    first_ = row;
    count_ = 1;
    sum_ = {};
    any_number_ = false;
    add_number(row);
  }

  void add(std::string_view row) override {
    ++count_;
    add_number(row);
  }

  void finish(std::string& out) override {
    std::string row = first_;
    if (options_.sum && any_number_) {
      row.clear();
      append_row_with_field(first_, options_.separator, *options_.sum, sum_.text(), row);
    }
    if (options_.count) {
      append_row_with_column(row, options_.separator, std::to_string(count_), out);
    } else {
      out.append(row);
    }
  }

 private:
  // An empty field adds nothing.
  void add_number(std::string_view row) {
    if (!options_.sum) return;
    const std::string_view text =
        trim_blanks(field_content(row, options_.separator, *options_.sum));
    if (text.empty()) return;
    const std::optional<Decimal> number = parse_decimal(text);
    if (!number || !sum_.add(*number)) {
      throw Error(ErrorCode::bad_input,
                  "--sum: not a number that can be summed: " + std::string(text));
    }
    any_number_ = true;
  }

  RowFoldOptions options_;
  std::string first_;
  std::uint64_t count_ = 0;
  DecimalSum sum_;
  bool any_number_ = false;
};

}  // namespace

std::unique_ptr<GroupFold> make_line_counter() {
  return std::make_unique<LineCounter>();
}

std::unique_ptr<GroupFold> make_row_fold(const RowFoldOptions& options) {
  return std::make_unique<RowFold>(options);
}

}  // namespace xxl
