#include "contents.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "random.h"

namespace xxl::campaign {
namespace {

constexpr std::string_view kWords[] = {
    "a",     "b",   "B",    "aa",   "ab",      "Ab",     "a-b",      "a.b",
    "",      "x1",  "x10",  "x2",   "Zebra",   "The",    "THE",      "0",
    "-0",    "1",   "-1",   "10",   "9",       "09",     "1.5",      "1.50",
    "-1.5",  ".5",  "1e3",  "1E-2", "inf",     "+1",     "1,000",    "12345678901234567890",
    "1K",    "1k",  "1M",   "2G",   "1.5M",    "-1K",    "JAN",      "feb",
    "March", "DEC", "1.10", "1.9",  "1.0~rc1", "v1.2.3", "a.tar.gz", "~",
    " ",     "\t",  "é",    "\xff"};
constexpr std::size_t kLongBytes = 100'000;
constexpr std::size_t kWideBytes = 200;  // so that large tables do not fit in memory

// Records of `shape`, made one at a time.
class ContentsMaker {
 public:
  ContentsMaker(const Job& job, const Input& input)
      : kind_(kind_of(job)),
        shape_(input.shape),
        records_(input.records),
        separator_(separator_of(job)),
        terminator_(terminator_of(job)),
        carriage_(input.carriage),
        random_(input.seed) {
    if (kind_ != Kind::binary) return;
    const RecordFormat format = format_of(job, side_of(job, input));
    record_bytes_ = format.record_bytes;
    if (has(job.options, "--record2")) numbers_ = format.key;
  }

  // With its terminator.
  std::string record() {
    std::string bytes = bytes_of_record();
    if (kind_ == Kind::binary) return bytes;
    if (carriage_) bytes += '\r';
    return bytes + terminator_;
  }

 private:
  std::string bytes_of_record() {
    switch (kind_) {
      case Kind::lines:
        return line();
      case Kind::rows:
        return row();
      case Kind::binary:
        return binary();
      case Kind::columns:
        return table_row();
    }
    return {};
  }

  bool is_wide() const {
    return shape_ == "wide" || shape_ == "ascending" || shape_ == "descending";
  }

  std::string any_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(random_());
      if (kind_ == Kind::lines && byte == terminator_) byte = 'n';
    }
    return bytes;
  }

  std::string line() {
    if (shape_ == "bytes") return any_bytes(random_.below(30));
    if (shape_ == "long" && random_.one_in(3)) {
      return std::string(random_.below(kLongBytes), "ab "[random_.below(3)]) + any_bytes(2);
    }
    std::string text;
    const std::uint64_t fields = random_.between(1, 4);
    for (std::uint64_t field = 0; field < fields; ++field) {
      if (field > 0) text += separator_;
      if (field == 0 && is_wide())
        text += std::to_string(random_.below(2 * records_));
      else if (random_.one_in(5))
        text += std::to_string(random_.below(2000)) + ".25";
      else
        text += random_.pick(kWords);
    }
    std::erase(text, terminator_);
    return text;
  }

  // A field of a row as it is written.
  std::string quoted(std::string text) {
    const bool must = text.find_first_of(std::string("\"\r\n") + separator_) != std::string::npos;
    if (!must && !random_.one_in(8)) return text;
    std::string field = "\"";
    for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
    return field + '"';
  }

  std::string row() {
    static constexpr std::string_view kNotes[] = {"",           "plain",      "a,b", "a\tb",
                                                  "say \"hi\"", "two\nlines", " ",   "é"};
    std::string name =
        shape_ == "bytes" ? any_bytes(random_.below(20)) : std::string(random_.pick(kWords));
    if (shape_ == "long" && random_.one_in(3)) name.assign(random_.below(kLongBytes), 'x');
    const std::uint64_t ids = is_wide() ? 2 * records_ : 20;
    char day[16];
    std::snprintf(day, sizeof day, "20%02u-%02u-%02u", unsigned(random_.below(30)),
                  unsigned(random_.between(1, 12)), unsigned(random_.between(1, 28)));
    std::string text = quoted(std::to_string(random_.below(ids)));
    text += separator_ + quoted(std::move(name));
    text += separator_ + quoted(std::to_string(int(random_.below(2000)) - 1000) + "." +
                                std::to_string(random_.below(100)));
    text += separator_ + std::string(day);
    text += separator_ + quoted(std::string(random_.pick(kNotes)));
    return text;
  }

  // Small numbers in places where numbers may be, else any bytes.
  std::string binary() {
    std::string bytes = any_bytes(record_bytes_);
    if (shape_ == "bytes" || random_.one_in(20)) return bytes;
    const std::uint64_t most = is_wide() ? 2 * records_ : 20;
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 8) {
      const std::uint64_t number = random_.below(most);
      std::memcpy(bytes.data() + at, &number, std::min<std::size_t>(8, bytes.size() - at));
    }
    for (const KeyField& field : numbers_) put_number(field, random_.below(most), bytes);
    return bytes;
  }

  // Both formats of a join have the number in such a field, so that keys of equal numbers are
  // equal.
  static void put_number(const KeyField& field, std::uint64_t number, std::string& record) {
    const auto as_float = static_cast<float>(number);
    const auto as_double = static_cast<double>(number);
    if (field.type == KeyType::f32) number = std::bit_cast<std::uint32_t>(as_float);
    if (field.type == KeyType::f64) number = std::bit_cast<std::uint64_t>(as_double);
    std::string bytes(field.length, '\0');
    std::memcpy(bytes.data(), &number, std::min(field.length, sizeof number));
    if (field.big_endian) std::ranges::reverse(bytes);
    record.replace(field.offset, field.length, bytes);
  }

  // A word as text of a table has it, which is UTF-8 and in one line: bytes become characters.
  static std::string cell(std::string_view word) {
    std::string text = "'";
    for (const char c : word) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x80) {
        text += byte < ' ' ? 'n' : c;
      } else {
        text += static_cast<char>(0xc0 | byte >> 6);
        text += static_cast<char>(0x80 | (byte & 0x3f));
      }
    }
    return text;
  }

  // The fields of kTableColumns, of which any may be null.
  std::string table_row() {
    static constexpr double kAmounts[] = {0.0,
                                          -0.0,
                                          1.5,
                                          -2.25,
                                          1e300,
                                          -1e-300,
                                          std::numeric_limits<double>::infinity(),
                                          std::numeric_limits<double>::quiet_NaN()};
    std::string name =
        shape_ == "bytes" ? any_bytes(random_.below(20)) : std::string(random_.pick(kWords));
    if (is_wide()) name += std::to_string(random_()) + std::string(kWideBytes, 'w');
    if (shape_ == "long" && random_.one_in(3)) name.assign(random_.below(kLongBytes), 'x');
    std::string tags = "[";
    for (std::uint64_t i = random_.below(4); i > 0; --i)
      tags += std::to_string(random_.below(9)) + ';';
    const std::string fields[] = {
        std::to_string(std::int64_t(random_.below(is_wide() ? 2 * records_ : 20)) - 5),
        cell(name),
        std::to_string(std::bit_cast<std::uint64_t>(random_.pick(kAmounts))),
        std::to_string(random_.below(2)),
        cell("code" + std::to_string(random_.below(12))),
        std::to_string(random_.below(3000)),
        tags};
    std::string row;
    for (const std::string& field : fields) {
      if (!row.empty()) row += '\t';
      row += random_.one_in(15) ? "-" : field;
    }
    return row;
  }

  Kind kind_;
  std::string shape_;
  std::uint64_t records_;
  char separator_;
  char terminator_;
  bool carriage_;
  std::size_t record_bytes_ = 0;
  std::vector<KeyField> numbers_;  // of a join of two formats: the fields of the key
  Random random_;
};

}  // namespace

char separator_of(const Job& job) {
  const auto given = value_of(job.options, job.command == "join" ? "-t" : "--field-separator");
  if (given && !given->empty()) return *given == "\\0" ? '\0' : given->front();
  switch (kind_of(job)) {
    case Kind::rows:
      return record_of(job) == "tsv" ? '\t' : ',';
    default:
      return ' ';
  }
}

std::string contents_of(const Job& job, const Input& input) {
  ContentsMaker maker(job, input);
  std::vector<std::string> records;
  for (std::uint64_t i = 0; i < input.records; ++i) {
    if (input.shape == "equal" && i > 0)
      records.push_back(records.front());
    else if (input.shape == "few" && i >= 5)
      records.push_back(records[(i * i / 7) % 5]);
    else
      records.push_back(maker.record());
  }
  if (input.shape == "ascending") std::ranges::sort(records);
  if (input.shape == "descending") std::ranges::sort(records, std::greater<>());
  std::string bytes;
  if (kind_of(job) == Kind::rows && has(job.options, "--header")) {
    for (const std::string_view column : kColumns) {
      if (!bytes.empty()) bytes += separator_of(job);
      bytes += column;
    }
    bytes += input.carriage ? "\r\n" : "\n";
  } else if (kind_of(job) == Kind::lines && has(job.options, "--header")) {
    bytes = "the header" + std::string(1, terminator_of(job));
  }
  for (const std::string& record : records) bytes += record;
  if (input.unended && !bytes.empty() && kind_of(job) != Kind::binary) bytes.pop_back();
  return bytes;
}

}  // namespace xxl::campaign
