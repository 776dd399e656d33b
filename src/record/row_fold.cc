#include "record/row_fold.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/memory_name.h"
#include "base/units.h"
#include "record/column_values.h"
#include "record/csv_keys.h"
#include "record/csv_rows.h"
#include "record/decimal.h"

namespace xxl {
namespace {

// The values of one column of a group.
class ColumnFold {
 public:
  virtual ~ColumnFold() = default;
  // For the next group.
  virtual void clear() = 0;
  // False if the field that they become is too long.
  [[nodiscard]] virtual bool add(const FieldSpan& field) = 0;
  // The field that they become, as it stands in a row; none if there were none that count.
  virtual std::optional<std::string> field() const = 0;
};

// A value as it stands in a row. Of JSON, nothing is null.
std::string in_row(const FieldSpan& field, const FieldSyntax& syntax) {
  std::string text;
  if (!syntax.json) {
    copy_field(field, syntax, text);
  } else if (field.quoted) {
    append_json_string(field.content, text);
  } else {
    text = field.content.empty() ? "null" : field.content;
  }
  return text;
}

// A number, as values of a column are written.
std::string number_in_row(const ColumnValues& values, const std::string& number,
                          const FieldSyntax& syntax) {
  std::string text;
  const std::string written = values.written(number);
  if (!syntax.json) {
    append_field(written, syntax, text);
    return text;
  }
  return in_row({.content = written, .quoted = written != number}, syntax);
}

// Whether the field is a number that can be summed, and was added.
bool add_to(DecimalSum& sum, const ColumnValues& values, const FieldSpan& field) {
  const std::optional<Decimal> number = values.number(field);
  return number && sum.add(*number);
}

// sum, mean. Empty fields do not count, nor do those that are not numbers in rows that are kept.
class NumberFold : public ColumnFold {
 public:
  NumberFold(FoldKind kind, const ColumnValues& values, FieldSyntax syntax, bool keeps_malformed)
      : kind_(kind), values_(values), syntax_(syntax), keeps_malformed_(keeps_malformed) {}

  void clear() override {
    sum_ = {};
    numbers_ = 0;
  }
  bool add(const FieldSpan& field) override {
    if (values_.is_empty(field)) return true;
    if (!add_to(sum_, values_, field)) {
      if (keeps_malformed_) return true;
      throw Error(ErrorCode::bad_input,
                  "--" + std::string(name_of(kind_)) +
                      ": not a number that can be summed: " + std::string(field.content));
    }
    ++numbers_;
    return true;
  }
  std::optional<std::string> field() const override {
    if (numbers_ == 0) return {};
    return number_in_row(values_, kind_ == FoldKind::mean ? sum_.mean(numbers_) : sum_.text(),
                         syntax_);
  }

 private:
  const FoldKind kind_;
  const ColumnValues values_;
  const FieldSyntax syntax_;
  const bool keeps_malformed_;
  DecimalSum sum_;
  std::uint64_t numbers_ = 0;
};

// min, max: the first one of those that are equal. Empty fields do not count.
class ExtremeFold : public ColumnFold {
 public:
  ExtremeFold(FoldKind kind, const ColumnValues& values, const FieldSyntax& syntax)
      : is_max_(kind == FoldKind::max), values_(values), syntax_(syntax) {}

  void clear() override { field_.reset(); }
  bool add(const FieldSpan& field) override {
    key_.clear();
    if (!append_value_key(values_, field, key_)) return true;
    if (field_ && (is_max_ ? key_ <= best_ : key_ >= best_)) return true;
    std::swap(key_, best_);
    field_ = in_row(field, syntax_);
    return true;
  }
  std::optional<std::string> field() const override { return field_; }

 private:
  const bool is_max_;
  const ColumnValues values_;
  const FieldSyntax syntax_;
  std::string key_;
  std::string best_;  // the key of field_
  std::optional<std::string> field_;
};

// first, last: empty fields, too.
class PlaceFold : public ColumnFold {
 public:
  PlaceFold(FoldKind kind, const FieldSyntax& syntax)
      : is_last_(kind == FoldKind::last), syntax_(syntax) {}

  void clear() override { field_.reset(); }
  bool add(const FieldSpan& field) override {
    if (is_last_ || !field_) field_ = in_row(field, syntax_);
    return true;
  }
  std::optional<std::string> field() const override { return field_; }

 private:
  const bool is_last_;
  const FieldSyntax syntax_;
  std::optional<std::string> field_;
};

// collect: a row of its own, in one field, or an array of JSON. Empty fields do not count.
class CollectFold : public ColumnFold {
 public:
  CollectFold(const ColumnValues& values, FieldSyntax syntax, std::size_t most_bytes)
      : text_(values), syntax_(syntax), most_bytes_(most_bytes) {}

  void clear() override { values_.clear(); }
  bool add(const FieldSpan& field) override {
    if (text_.is_empty(field)) return true;
    if (!values_.empty()) values_.push_back(syntax_.json ? ',' : kSeparator);
    if (syntax_.json) {
      values_ += in_row(field, syntax_);
      return values_.size() <= most_bytes_;
    }
    value_.clear();
    field.append_value(value_);
    if (syntax_.quotes)
      append_field(value_, kSeparator, values_);
    else
      values_ += value_;
    return values_.size() <= most_bytes_;
  }
  std::optional<std::string> field() const override {
    if (values_.empty()) return {};
    if (syntax_.json) return "[" + values_ + "]";
    std::string field;
    append_field(values_, syntax_, field);
    return field;
  }

 private:
  static constexpr char kSeparator = ';';

  const ColumnValues text_;
  const FieldSyntax syntax_;
  const std::size_t most_bytes_;
  std::string values_;
  std::string value_;
};

// count: rows.
class CountFold : public ColumnFold {
 public:
  void clear() override { rows_ = 0; }
  bool add(const FieldSpan&) override {
    ++rows_;
    return true;
  }
  std::optional<std::string> field() const override { return std::to_string(rows_); }

 private:
  std::uint64_t rows_ = 0;
};

// count-distinct: values come in ascending order. Empty fields do not count.
class DistinctFold : public ColumnFold {
 public:
  explicit DistinctFold(const ColumnValues& values) : values_(values) {}

  void clear() override { count_ = 0; }
  bool add(const FieldSpan& field) override {
    key_.clear();
    if (!append_value_key(values_, field, key_) || (count_ > 0 && key_ == last_)) return true;
    ++count_;
    std::swap(key_, last_);
    return true;
  }
  std::optional<std::string> field() const override { return std::to_string(count_); }

 private:
  const ColumnValues values_;
  std::string key_;
  std::string last_;  // key of the value before
  std::uint64_t count_ = 0;
};

// median: values come in ascending order, so that those below the middle of all so far are not
// needed any more. Empty fields do not count.
class MedianFold : public ColumnFold {
 public:
  MedianFold(const ColumnValues& values, FieldSyntax syntax, std::size_t most_bytes,
             bool keeps_malformed)
      : values_(values),
        syntax_(syntax),
        most_bytes_(most_bytes),
        keeps_malformed_(keeps_malformed) {}

  void clear() override {
    upper_.clear();
    bytes_ = 0;
    numbers_ = passed_ = 0;
  }
  bool add(const FieldSpan& field) override {
    if (values_.is_empty(field)) return true;
    std::string room;
    const std::string_view value = field.value(room);
    const bool is_repeated = !upper_.empty() && upper_.back().text == value;
    DecimalSum alone;
    if (!is_repeated && !add_to(alone, values_, field)) {
      if (keeps_malformed_) return true;
      throw Error(ErrorCode::bad_input,
                  "--median: not a number that can be compared: " + std::string(field.content));
    }
    ++numbers_;
    if (is_repeated) {
      ++upper_.back().count;
    } else {
      upper_.push_back({std::string(value), 1});
      bytes_ += memory_bytes(upper_.back());
    }
    for (; passed_ + upper_.front().count <= (numbers_ - 1) / 2; upper_.pop_front()) {
      passed_ += upper_.front().count;
      bytes_ -= memory_bytes(upper_.front());
    }
    return bytes_ <= most_bytes_;
  }
  std::optional<std::string> field() const override {
    if (numbers_ == 0) return {};
    const Value& below = upper_.front();
    const bool is_between = numbers_ % 2 == 0 && passed_ + below.count == numbers_ / 2;
    DecimalSum sum;
    add_to(sum, values_, {.content = below.text});
    if (is_between) add_to(sum, values_, {.content = upper_[1].text});
    return number_in_row(values_, is_between ? sum.mean(2) : sum.text(), syntax_);
  }

 private:
  struct Value {
    std::string text;
    std::uint64_t count;  // of those after another
  };

  static std::size_t memory_bytes(const Value& value) {
    return sizeof(Value) + (value.text.capacity() > 15 ? value.text.capacity() + 32 : 0);
  }

  const ColumnValues values_;
  const FieldSyntax syntax_;
  const std::size_t most_bytes_;
  const bool keeps_malformed_;
  std::deque<Value> upper_;  // from the middle on
  std::size_t bytes_ = 0;    // that they take
  std::uint64_t numbers_ = 0;
  std::uint64_t passed_ = 0;  // before upper_
};

std::unique_ptr<ColumnFold> make_column_fold(const CsvFold& fold, const RowFoldOptions& options) {
  const ColumnValues values(fold.type, fold.format, options.nulls);
  switch (fold.kind) {
    case FoldKind::sum:
    case FoldKind::mean:
      return std::make_unique<NumberFold>(fold.kind, values, options.fields,
                                          options.keeps_malformed);
    case FoldKind::min:
    case FoldKind::max:
      return std::make_unique<ExtremeFold>(fold.kind, values, options.fields);
    case FoldKind::first:
    case FoldKind::last:
      return std::make_unique<PlaceFold>(fold.kind, options.fields);
    case FoldKind::count:
      return std::make_unique<CountFold>();
    case FoldKind::count_distinct:
      return std::make_unique<DistinctFold>(values);
    case FoldKind::median:
      return std::make_unique<MedianFold>(values, options.fields, options.most_collected_bytes,
                                          options.keeps_malformed);
    case FoldKind::collect:
      break;
  }
  return std::make_unique<CollectFold>(values, options.fields, options.most_collected_bytes);
}

[[noreturn]] void throw_too_long(FoldKind kind, const std::string& row,
                                 const RowFoldOptions& options) {
  throw Error(ErrorCode::no_space, "--" + std::string(name_of(kind)) + ": the values of key " +
                                       in_quotes(options.key_text(row)) + " are longer than " +
                                       format_bytes(options.most_collected_bytes) +
                                       ", a sixteenth of " + memory_name() + ": give more");
}

class RowFold : public GroupFold {
 public:
  explicit RowFold(const RowFoldOptions& options) : options_(options) {
    for (const CsvFold& fold : options.folds) {
      columns_.push_back(
          {fold.kind, fold.column.index, !fold.name.empty(), make_column_fold(fold, options)});
      appends_ |= columns_.back().is_appended;
    }
    for (const Column& column : columns_) in_row_.push_back(&column);
    std::stable_sort(in_row_.begin(), in_row_.end(),
                     [](const Column* a, const Column* b) { return a->index < b->index; });
  }

  void begin(std::string_view row) override {
    first_ = row;
    rows_ = 0;
    for (const Column& column : columns_) column.fold->clear();
    add(row);
  }

  void add(std::string_view row) override {
    ++rows_;
    visit_columns(row, [this](const Column& column, const FieldSpan& field) {
      if (!column.fold->add(field)) throw_too_long(column.kind, first_, options_);
    });
  }

  void finish(std::string& out) override {
    const std::string_view row = without_line_end(first_);
    if (options_.keys_of_group) {
      append_group(row, out);
      out.append(first_, row.size());
      return;
    }
    const char* rest = row.data();
    visit_columns(row, [&](const Column& column, const FieldSpan& field) {
      if (column.is_appended) return;
      const std::optional<std::string> folded = column.fold->field();
      if (!folded) return;
      out.append(rest, field.raw().data()).append(*folded);
      rest = field.raw().data() + field.raw().size();
    });
    out.append(rest, row.data() + row.size());
    if (appends_) check_goes_on(row);
    if (options_.header_columns != 0 && appends_) fill_up(row, out);
    for (const Column& column : columns_) {
      if (!column.is_appended) continue;
      append_separator(out);
      out.append(column.fold->field().value_or(""));
    }
    if (options_.count) {
      append_separator(out);
      append_field(std::to_string(rows_), options_.fields, out);
    }
    out.append(first_, row.size());
  }

 private:
  struct Column {
    FoldKind kind;
    std::size_t index;
    bool is_appended;
    std::unique_ptr<ColumnFold> fold;
  };

  // Calls visit(column, field) for the columns in the order of the row.
  template <class Visit>
  void visit_columns(std::string_view row, Visit&& visit) {
    if (in_row_.empty()) return;
    auto next = in_row_.begin();
    visit_fields(row, options_.fields, [&](std::size_t index, const FieldSpan& field) {
      for (; next != in_row_.end() && (*next)->index == index; ++next) visit(**next, field);
      return next != in_row_.end();
    });
  }

  void append_group(std::string_view row, std::string& out) {
    const std::vector<std::size_t>& keys = *options_.keys_of_group;
    const std::size_t start = out.size();
    keys_.assign(keys.size(), {});
    visit_fields(row, options_.fields, [&](std::size_t index, const FieldSpan& field) {
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (keys[i] == index) keys_[i] = field;
      }
      return true;
    });
    std::size_t fields = 0;
    const auto separate = [&] {
      if (fields++ != 0) append_separator(out);
    };
    for (const FieldSpan& key : keys_) {
      separate();
      copy_field(key, options_.fields, out);
    }
    for (const Column& column : columns_) {
      separate();
      out.append(column.fold->field().value_or(""));
    }
    // An empty line would be no row for most readers.
    if (out.size() == start && options_.fields.quotes) out.append(2, kQuote);
  }

  void fill_up(std::string_view row, std::string& out) const {
    std::size_t columns = 0;
    count_fields(row, options_.fields, columns);
    if (columns > options_.header_columns) {
      throw Error(ErrorCode::bad_input,
                  "the first row of key " + in_quotes(options_.key_text(first_)) + " has " +
                      format_count(columns, "column") + ", but the header has " +
                      std::to_string(options_.header_columns) +
                      ": new columns need rows that are not longer than the header");
    }
    for (; columns < options_.header_columns; ++columns) append_separator(out);
  }

  void append_separator(std::string& out) const { options_.fields.separator.append_to(out); }

  void check_goes_on(std::string_view row) const {
    if (can_go_on(row, options_.fields)) return;
    throw Error(ErrorCode::bad_input, "the row " + in_quotes(row) +
                                          " ends with a part of a separator or an escape: nothing "
                                          "can be appended to it");
  }

  const RowFoldOptions options_;
  bool appends_ = options_.count;
  std::vector<Column> columns_;
  std::vector<const Column*> in_row_;  // of columns_, by index
  std::vector<FieldSpan> keys_;        // of first_, for a group
  std::string first_;
  std::uint64_t rows_ = 0;
};

// Of lines of JSON.
class JsonFold : public GroupFold {
 public:
  explicit JsonFold(const RowFoldOptions& options)
      : options_(options), members_(paths_of(options), options.most_json_bytes) {
    for (const CsvFold& fold : options.folds) folds_.push_back(make_column_fold(fold, options));
    fields_.resize(options.paths_of_keys.size() + folds_.size() + 1);
  }

  void begin(std::string_view row) override {
    first_ = row;
    rows_ = 0;
    for (const auto& fold : folds_) fold->clear();
    add(row);
  }

  void add(std::string_view row) override {
    ++rows_;
    if (folds_.empty()) return;
    members_.find(row, fields_.data());
    for (std::size_t i = 0; i < folds_.size(); ++i) {
      if (folds_[i]->add(fields_[options_.paths_of_keys.size() + i])) continue;
      throw_too_long(options_.folds[i].kind, first_, options_);
    }
  }

  void finish(std::string& out) override {
    members_.find(first_, fields_.data());
    const std::string_view row = without_line_end(first_);
    if (options_.keys_of_group) {
      append_group(out);
    } else {
      append_counted(row, out);
    }
    out.append(first_, row.size());
  }

 private:
  // Those of the keys, of the folds, and of what --count makes.
  static std::vector<JsonMembers::Path> paths_of(const RowFoldOptions& options) {
    std::vector<JsonMembers::Path> paths = options.paths_of_keys;
    for (const CsvFold& fold : options.folds) paths.push_back(fold.column.path);
    paths.push_back({std::string(kCountColumn)});
    return paths;
  }

  void append_group(std::string& out) const {
    std::size_t members = 0;
    const auto append = [&](std::string_view value) {
      out.push_back(members == 0 ? '{' : ',');
      append_json_string(options_.names_of_group[members++], out);
      out.push_back(':');
      out.append(value);
    };
    const std::size_t keys = options_.paths_of_keys.size();
    for (std::size_t i = 0; i < keys; ++i) append(in_row(fields_[i], options_.fields));
    for (const auto& fold : folds_) append(fold->field().value_or("null"));
    out.push_back('}');
  }

  void append_counted(std::string_view row, std::string& out) const {
    if (fields_.back().content.data() != nullptr) {
      throw Error(ErrorCode::usage, "there is a member " + in_quotes(kCountColumn) +
                                        " already, the name of the one that --count makes, in the "
                                        "first row of key " +
                                        in_quotes(options_.key_text(first_)));
    }
    constexpr std::string_view kJsonBlanks = " \t";
    const std::size_t end = row.rfind('}');
    const std::size_t last = row.find_last_not_of(kJsonBlanks, end - 1);
    out.append(row, 0, last + 1);
    if (row[last] != '{') out.push_back(',');
    append_json_string(kCountColumn, out);
    out.append(":").append(std::to_string(rows_)).append("}");
  }

  const RowFoldOptions options_;
  const JsonMembers members_;
  std::vector<std::unique_ptr<ColumnFold>> folds_;
  std::vector<FieldSpan> fields_;
  std::string first_;
  std::uint64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<GroupFold> make_row_fold(const RowFoldOptions& options) {
  if (options.fields.json) return std::make_unique<JsonFold>(options);
  return std::make_unique<RowFold>(options);
}

std::string folded_header(std::string_view header, const RowFoldOptions& options) {
  const std::string_view names = without_line_end(header);
  if (options.keys_of_group) {
    std::string of_group(header.substr(0, comment_bytes(header, options.fields)));
    for (const std::string& name : options.names_of_group) {
      if (&name != &options.names_of_group.front()) options.fields.separator.append_to(of_group);
      append_field(name, options.fields, of_group);
    }
    return of_group.append(header.substr(names.size()));
  }
  std::string folded(names);
  const auto append = [&](std::string_view name) {
    options.fields.separator.append_to(folded);
    append_field(name, options.fields, folded);
  };
  for (const CsvFold& fold : options.folds) {
    if (!fold.name.empty()) append(fold.name);
  }
  if (options.count) append(kCountColumn);
  return folded.append(header.substr(names.size()));
}

}  // namespace xxl
