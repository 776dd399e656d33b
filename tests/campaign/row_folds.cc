#include "row_folds.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include "contents.h"
#include "rounding.h"
#include "row_reference.h"

namespace xxl::campaign {
namespace {

constexpr std::array kKinds{"--sum", "--mean", "--min", "--max", "--first", "--last", "--collect"};
constexpr std::array kTypes{"text", "number", "integer", "date"};
constexpr int kMeanDecimals = 6;  // more than those of the sum

int decimals_of(const std::string& number) {
  const std::size_t point = number.find('.');
  return point == std::string::npos ? 0 : static_cast<int>(number.size() - point - 1);
}

// A number of so many decimals.
std::string decimal(__int128 units, int decimals) {
  std::string digits;
  for (__int128 left = units < 0 ? -units : units; left > 0; left /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(left % 10)));
  const std::size_t least = static_cast<std::size_t>(decimals) + 1;
  if (digits.size() < least) digits.insert(0, least - digits.size(), '0');
  if (decimals > 0) digits.insert(digits.size() - static_cast<std::size_t>(decimals), ".");
  return (units < 0 ? "-" : "") + digits;
}

std::string sum_or_mean(const std::vector<std::string>& numbers, bool mean) {
  long hundredths_in_all = 0;
  int decimals = 0;
  for (const std::string& number : numbers) {
    hundredths_in_all += hundredths(number);
    decimals = std::max(decimals, decimals_of(number));
  }
  __int128 units = hundredths_in_all;
  for (int i = decimals; i < 2; ++i) units /= 10;
  if (!mean) return decimal(units, decimals);
  for (int i = 0; i < kMeanDecimals; ++i) units *= 10;
  units = rounded_quotient(units, static_cast<__int128>(numbers.size()));
  std::string text = decimal(units, decimals + kMeanDecimals);
  for (int i = 0; i < kMeanDecimals && text.ends_with('0'); ++i) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

std::string written_field(const std::string& value, char separator) {
  if (value.find_first_of(std::string("\"\r\n") + separator) == std::string::npos) return value;
  std::string field = "\"";
  for (const char c : value) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + '"';
}

std::optional<RowFolds::Fold> RowFolds::parse(const Job& job, const std::string& kind,
                                              const std::string& value) {
  std::istringstream parts(value);
  std::string part;
  std::getline(parts, part, ':');
  const auto column = column_of(job, part);
  if (!column) return std::nullopt;
  Fold fold{.kind = kind, .column = *column, .type = "number", .name = ""};
  while (std::getline(parts, part, ':')) {
    const bool is_type = std::ranges::find(kTypes, part) != kTypes.end();
    (is_type ? fold.type : fold.name) = part;
  }
  return fold;
}

std::optional<RowFolds> RowFolds::of(const Job& job, const std::vector<std::size_t>& keys) {
  RowFolds folds;
  folds.separator_ = separator_of(job);
  folds.count_ = has(job.options, "--count");
  std::set<std::size_t> replaced;
  std::set<std::string> names;
  for (const std::string& option : job.options) {
    const std::string kind = option.substr(0, option.find('='));
    if (std::ranges::find(kKinds, kind) == kKinds.end()) continue;
    const auto fold = parse(job, kind, option.substr(kind.size() + 1));
    if (!fold) return std::nullopt;
    const bool makes_text = kind == "--sum" || kind == "--mean" || kind == "--collect";
    const bool of_key = std::ranges::find(keys, fold->column) != keys.end();
    if (fold->name.empty() && ((makes_text && of_key) || !replaced.insert(fold->column).second))
      return std::nullopt;
    if (!fold->name.empty() && !names.insert(fold->name).second) return std::nullopt;
    folds.folds_.push_back(*fold);
  }
  return folds;
}

std::string RowFolds::with_new_fields(std::vector<std::string> fields,
                                      const std::vector<std::string>& more,
                                      std::string_view row) const {
  fields.insert(fields.end(), more.begin(), more.end());
  std::string text;
  for (const std::string& field : fields) (text += field) += separator_;
  text.pop_back();
  if (row.ends_with('\n')) row.remove_suffix(1);
  return text + (row.ends_with('\r') ? "\r\n" : "\n");
}

std::string RowFolds::header(std::string_view row) const {
  std::vector<std::string> more;
  for (const Fold& fold : folds_) {
    if (!fold.name.empty()) more.push_back(written_field(fold.name, separator_));
  }
  if (count_) more.emplace_back("count");
  return with_new_fields(raw_fields_of(row, separator_), more, row);
}

// The field that a fold makes of these; nothing if all of them are empty.
std::optional<std::string> RowFolds::field(const Fold& fold,
                                           const std::vector<std::string>& fields) const {
  if (fold.kind == "--first") return fields.front();
  if (fold.kind == "--last") return fields.back();
  std::vector<std::string> raw, values;
  for (const std::string& field : fields) {
    std::string value = unquoted(field);
    if (value.empty()) continue;
    raw.push_back(field);
    values.push_back(std::move(value));
  }
  if (values.empty()) return std::nullopt;
  if (fold.kind == "--sum" || fold.kind == "--mean")
    return written_field(sum_or_mean(values, fold.kind == "--mean"), separator_);
  if (fold.kind == "--collect") {
    std::string all;
    for (const std::string& value : values) (all += written_field(value, ';')) += ';';
    all.pop_back();
    return written_field(all, separator_);
  }
  const bool numbers = fold.type == "number" || fold.type == "integer";
  std::size_t best = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const auto order = numbers ? hundredths(values[i]) <=> hundredths(values[best])
                               : std::strong_ordering(values[i] <=> values[best]);
    if (fold.kind == "--min" ? order < 0 : order > 0) best = i;
  }
  return raw[best];
}

std::string RowFolds::folded(const std::vector<std::string_view>& rows) const {
  std::vector<std::vector<std::string>> columns;
  for (const std::string_view row : rows) {
    const std::vector<std::string> fields = raw_fields_of(row, separator_);
    columns.resize(fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) columns[i].push_back(fields[i]);
  }
  std::vector<std::string> first, more;
  for (const auto& column : columns) first.push_back(column.front());
  for (const Fold& fold : folds_) {
    const std::optional<std::string> made = field(fold, columns.at(fold.column));
    if (!fold.name.empty())
      more.push_back(made.value_or(""));
    else if (made)
      first[fold.column] = *made;
  }
  if (count_) more.push_back(std::to_string(rows.size()));
  return with_new_fields(first, more, rows.front());
}

}  // namespace xxl::campaign
