#include "record_reference.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>
#include <vector>

#include "line_reference.h"
#include "rounding.h"

namespace xxl::campaign {
namespace {

using Records = std::vector<std::string_view>;

Records records_of(std::string_view bytes, std::size_t record_bytes) {
  Records records;
  for (std::size_t at = 0; at + record_bytes <= bytes.size(); at += record_bytes) {
    records.push_back(bytes.substr(at, record_bytes));
  }
  return records;
}

bool is_signed(KeyType type) {
  return type == KeyType::i8 || type == KeyType::i16 || type == KeyType::i32 ||
         type == KeyType::i64;
}

bool is_float(KeyType type) {
  return type == KeyType::f32 || type == KeyType::f64;
}

// Bytes of a field, most significant first.
std::string big_endian(const KeyField& field, std::string_view record) {
  std::string bytes(record.substr(field.offset, field.length));
  if (field.type != KeyType::bytes && !field.big_endian) std::ranges::reverse(bytes);
  return bytes;
}

std::string comparable(const KeyField& field, std::string_view record) {
  std::string bytes = big_endian(field, record);
  const bool negative = (bytes.front() & 0x80) != 0;
  if (is_signed(field.type) || is_float(field.type)) bytes.front() ^= '\x80';
  // Negative floating-point numbers are the larger the smaller their other bits are.
  if (is_float(field.type) && negative) {
    bytes.front() ^= '\x80';
    for (char& byte : bytes) byte = static_cast<char>(~byte);
  }
  if (field.descending) {
    for (char& byte : bytes) byte = static_cast<char>(~byte);
  }
  return bytes;
}

// A whole number.
__int128 number_in(const KeyField& field, std::string_view record) {
  const std::string bytes = big_endian(field, record);
  __int128 number = is_signed(field.type) && (bytes.front() & 0x80) ? -1 : 0;
  for (const char byte : bytes) number = number * 256 + static_cast<unsigned char>(byte);
  return number;
}

// False if the field cannot hold it.
bool put_number(const KeyField& field, __int128 number, std::string& record) {
  std::string bytes(field.length, '\0');
  for (std::size_t i = field.length; i-- > 0; number >>= 8) bytes[i] = static_cast<char>(number);
  const bool negative = is_signed(field.type) && (bytes.front() & 0x80);
  if (number != (negative ? -1 : 0)) return false;
  if (!field.big_endian) std::ranges::reverse(bytes);
  record.replace(field.offset, field.length, bytes);
  return true;
}

struct Fold {
  std::string_view name;  // of the option
  KeyField field;
};

bool overlap(const KeyField& a, const KeyField& b) {
  return a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

// Nothing if one of them is not for here.
std::optional<std::vector<Fold>> folds_of(const Job& job, const RecordFormat& format) {
  std::vector<Fold> folds;
  for (const std::string_view name : {"--sum", "--mean", "--min", "--max", "--first", "--last"}) {
    for (const std::string& value : values_of(job.options, name)) {
      folds.push_back({name, parse_key_field(value, format)});
      const KeyField& field = folds.back().field;
      const auto shares = [&](const KeyField& other) { return overlap(field, other); };
      if (std::ranges::any_of(format.key, shares) ||
          std::any_of(folds.begin(), folds.end() - 1,
                      [&](const Fold& f) { return shares(f.field); })) {
        return std::nullopt;
      }
      const bool adds = name == "--sum" || name == "--mean";
      if (adds && (is_float(field.type) || field.type == KeyType::bytes)) {
        return std::nullopt;
      }
    }
  }
  return folds;
}

// `group` has equal keys and the order of the input. False: a field cannot hold its sum.
bool apply(const Fold& fold, const Records& group, std::string& result) {
  const KeyField& field = fold.field;
  if (fold.name == "--sum" || fold.name == "--mean") {
    __int128 sum = 0;
    for (const std::string_view record : group) sum += number_in(field, record);
    if (fold.name == "--mean") sum = rounded_quotient(sum, static_cast<__int128>(group.size()));
    return put_number(field, sum, result);
  }
  const auto compare = [&](std::string_view a, std::string_view b) {
    return comparable(field, a) < comparable(field, b);
  };
  auto chosen = group.begin();
  if (fold.name == "--min") chosen = std::ranges::min_element(group, compare);
  if (fold.name == "--max") chosen = std::ranges::max_element(group, compare);
  if (fold.name == "--last") chosen = std::prev(group.end());
  result.replace(field.offset, field.length, chosen->substr(field.offset, field.length));
  return true;
}

bool sorts_by_known_options(const Job& job) {
  return has_only(job.options, {"--record", "--key", "--reverse", "--unique", "--stable", "--merge",
                                "--skip", "--limit", "--count", "--sum", "--mean", "--min", "--max",
                                "--first", "--last", "--files0-from"});
}

std::map<std::string, Records> group_by_key(const RecordFormat& format, std::string_view bytes) {
  std::map<std::string, Records> groups;
  for (const std::string_view record : records_of(bytes, format.record_bytes)) {
    groups[sort_key(format, record)].push_back(record);
  }
  return groups;
}

// Which bytes of a record are not of its key.
std::string without_key(const RecordFormat& format, std::string_view record) {
  std::vector<bool> of_key(record.size());
  for (const KeyField& field : format.key) {
    std::fill_n(of_key.begin() + field.offset, field.length, true);
  }
  std::string rest;
  for (std::size_t i = 0; i < record.size(); ++i) {
    if (!of_key[i]) rest += record[i];
  }
  return rest;
}

std::string key_bytes(const RecordFormat& format, std::string_view record) {
  std::string key;
  for (const KeyField& field : format.key) key += record.substr(field.offset, field.length);
  return key;
}

// The key of a record of `own`, with the bytes of its numbers in the order that `format` has.
std::string key_as_in(const RecordFormat& format, const RecordFormat& own,
                      std::string_view record) {
  std::string key;
  for (std::size_t i = 0; i < own.key.size(); ++i) {
    std::string field(record.substr(own.key[i].offset, own.key[i].length));
    if (own.key[i].big_endian != format.key[i].big_endian) std::ranges::reverse(field);
    key += field;
  }
  return key;
}

}  // namespace

std::string sort_key(const RecordFormat& format, std::string_view record) {
  std::string key;
  for (const KeyField& field : format.key) key += comparable(field, record);
  return key;
}

std::string sort_records(const RecordFormat& format, std::string_view bytes) {
  struct Keyed {
    std::string key;
    std::string_view record;
  };
  std::vector<Keyed> keyed;
  for (const std::string_view record : records_of(bytes, format.record_bytes)) {
    keyed.push_back({sort_key(format, record), record});
  }
  std::ranges::stable_sort(keyed, {}, &Keyed::key);
  std::string result;
  result.reserve(bytes.size());
  for (const Keyed& one : keyed) result += one.record;
  return result;
}

std::optional<std::string> sort_reference(const Job& job, std::string_view bytes) {
  if (!sorts_by_known_options(job)) return std::nullopt;
  const RecordFormat format = format_of(job);
  const auto folds = folds_of(job, format);
  if (!folds) return std::nullopt;
  const bool count = has(job.options, "--count");
  const bool reduces = has(job.options, "--unique") || count || !folds->empty();
  const auto cut = [&](const std::string& records, std::size_t record_bytes) {
    return cut_records(job, split_records(job, records, record_bytes));
  };
  if (!reduces) return cut(sort_records(format, bytes), format.record_bytes);
  std::string result;
  for (const auto& [key, group] : group_by_key(format, bytes)) {
    std::string record(group.front());
    for (const Fold& fold : *folds) {
      if (!apply(fold, group, record)) return std::nullopt;
    }
    result += record;
    if (count) {
      const std::uint64_t number = group.size();
      result.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
  }
  return cut(result, format.record_bytes + (count ? 8 : 0));
}

std::optional<RankedInputs> rank_records(const Job& job,
                                         const std::vector<std::string_view>& inputs) {
  if (!has_only(job.options, {"--record", "--key", "--reverse", "--unique", "--keep-order",
                              "--merge", "--skip", "--limit", "--all", "--files0-from"}))
    return std::nullopt;
  const RecordFormat format = format_of(job);
  std::vector<std::string> keys;
  for (const std::string_view input : inputs) {
    for (const std::string_view record : records_of(input, format.record_bytes))
      keys.push_back(sort_key(format, record));
  }
  const auto ranks = ranks_of(keys);
  RankedInputs ranked;
  for (const std::string_view input : inputs) {
    auto& records = ranked.inputs.emplace_back();
    for (const std::string_view record : records_of(input, format.record_bytes))
      records.push_back({std::string(record), ranks.at(sort_key(format, record))});
  }
  return ranked;
}

std::size_t joined_bytes(const Job& job) {
  const RecordFormat format = format_of(job);
  const RecordFormat of_s = format_of(job, Side::s);
  if (const auto layout = value_of(job.options, "--layout")) {
    // 0: the key; m: a byte; SIDE.OFFSET:BYTES
    std::size_t bytes = 0;
    std::istringstream parts(*layout);
    for (std::string part; std::getline(parts, part, ',');) {
      bytes += part == "0"   ? format.key_bytes()
               : part == "m" ? 1
                             : std::stoul(part.substr(part.find(':') + 1));
    }
    return bytes;
  }
  const std::string how = value_of(job.options, "--how").value_or("inner");
  if (how == "semi" || how == "anti") return format.record_bytes;
  const auto rest = [](const RecordFormat& f) {
    return without_key(f, std::string(f.record_bytes, '\0')).size();
  };
  return format.key_bytes() + rest(format) + rest(of_s);
}

std::optional<std::string> join_reference(const Job& job, std::string_view r, std::string_view s) {
  if (!has_only(job.options,
                {"--record", "--record1", "--record2", "--key", "--left-on", "--right-on", "--how",
                 "--presorted", "--check-order", "--nocheck-order"}))
    return std::nullopt;
  const RecordFormat format = format_of(job);
  const RecordFormat format_of_s = format_of(job, Side::s);
  const std::string how = value_of(job.options, "--how").value_or("inner");
  const bool is_full = how == "full" || how == "outer";
  if (how == "cross" || how.starts_with("right-")) return std::nullopt;
  const bool all_r = how == "left" || is_full;
  const bool all_s = how == "right" || is_full;
  const auto missing = [](const RecordFormat& f) {
    const std::string none(f.record_bytes, '\0');
    return std::string(without_key(f, none).size(), '\0');
  };
  auto of_r = group_by_key(format, r);
  auto of_s = group_by_key(format_of_s, s);
  for (const auto& [key, group] : of_s) of_r.try_emplace(key);
  std::string result;
  for (const auto& [key, left] : of_r) {
    const Records& right = of_s[key];
    if (how == "semi" || how == "anti") {
      if (right.empty() != (how == "anti")) continue;
      for (const std::string_view record : left) result += record;
      continue;
    }
    for (const std::string_view a : left) {
      const std::string row = key_bytes(format, a) + without_key(format, a);
      for (const std::string_view b : right) result += row + without_key(format_of_s, b);
      if (right.empty() && all_r) result += row + missing(format_of_s);
    }
    if (!left.empty() || !all_s) continue;
    for (const std::string_view b : right) {
      result += key_as_in(format, format_of_s, b) + missing(format) + without_key(format_of_s, b);
    }
  }
  return result;
}

}  // namespace xxl::campaign
