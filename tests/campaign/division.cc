#include "division.h"

#include <algorithm>
#include <set>

#include "contents.h"
#include "line_reference.h"
#include "record_reference.h"
#include "row_reference.h"

namespace xxl::campaign {
namespace {

using Records = std::vector<std::string>;

std::size_t record_bytes_of(const Job& job) {
  if (kind_of(job) != Kind::binary) return 0;
  if (job.command == "join") return joined_bytes(job);
  return format_of(job).record_bytes + (has(job.options, "--count") ? 8 : 0);
}

// How many consecutive records each part has: of `parts` parts of about equal size, or of parts of
// at most `most_bytes` each, with the header. `are_fixed`: if there are fewer records than parts,
// each goes to the part of its place; other records go to the next part.
std::vector<std::size_t> divided(const Records& records, bool are_fixed, std::size_t header_bytes,
                                 std::size_t parts, std::size_t most_bytes, std::size_t total) {
  std::size_t before = 0, bytes = header_bytes;
  std::vector<std::size_t> counts{0};
  const auto is_full = [&](const std::string& record) {
    if (counts.back() == 0 && !(are_fixed && most_bytes == 0)) return false;
    if (most_bytes != 0) return bytes + record.size() > most_bytes;
    return counts.size() < parts && before >= total * counts.size() / parts;
  };
  for (const std::string& record : records) {
    while (is_full(record)) {
      counts.push_back(0);
      bytes = header_bytes;
    }
    ++counts.back();
    bytes += record.size();
    before += record.size();
  }
  counts.resize(std::max(counts.size(), parts));
  return counts;
}

// The value of --part-by in a record of the output; nothing if values with other bytes may be
// equal.
std::optional<std::string> value_of_part(const Job& job, std::string record) {
  const std::string by = *value_of(job.options, "--part-by");
  switch (kind_of(job)) {
    case Kind::binary: {
      const KeyField field = parse_key_field(by, parse_record_format(record_of(job)));
      return record.substr(field.offset, field.length);
    }
    case Kind::rows: {
      const auto column = column_of(job, by);
      if (!column) return std::nullopt;
      return fields_of(record, separator_of(job)).at(*column);
    }
    default:
      break;
  }
  if (has_any(job.options,
              {"--numeric-sort", "--general-numeric-sort", "--ignore-case", "--month-sort",
               "--human-numeric-sort", "--version-sort", "--random-sort", "--dictionary-order",
               "--ignore-nonprinting", "--ignore-leading-blanks", "--field-separator"})) {
    return std::nullopt;
  }
  // The number of equal lines comes first. Blanks in front of a field belong to it.
  if (has(job.options, "--count"))
    record.erase(0, record.find(' ', record.find_first_not_of(' ')) + 1);
  record.pop_back();
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  auto from = record.begin(), end = record.begin();
  for (unsigned long field = std::stoul(by); field > 0; --field) {
    from = end;
    end = std::find_if(std::find_if_not(from, record.end(), is_blank), record.end(), is_blank);
  }
  return std::string(from, end);
}

std::string wrong_values(const Job& job, const std::vector<Records>& parts) {
  std::set<std::string> seen;
  for (const Records& records : parts) {
    std::set<std::string> values;
    for (const std::string& record : records) {
      const auto value = value_of_part(job, record);
      if (!value) return "";
      values.insert(*value);
    }
    if (values.size() > 1) return "a part has several values of --part-by";
    const std::size_t before = seen.size();
    seen.merge(values);
    if (!records.empty() && seen.size() == before) return "two parts have one value of --part-by";
  }
  return "";
}

}  // namespace

std::string wrong_division(const Job& job, const std::vector<std::string>& parts) {
  std::vector<Records> records;
  Records all;
  std::size_t header_bytes = 0;
  for (const std::string& part : parts) {
    records.push_back(split_records(job, part, record_bytes_of(job)));
    header_bytes = take_header(job, records.back()).size();
    all.insert(all.end(), records.back().begin(), records.back().end());
  }
  if (has(job.options, "--part-by")) return job.command == "sort" ? wrong_values(job, records) : "";
  const auto number = value_of(job.options, "--parts");
  const std::size_t wanted = number ? std::stoul(*number) : 0;
  const std::size_t most_bytes = number ? 0 : std::stoul(*value_of(job.options, "--part-bytes"));
  if (number && parts.size() != wanted)
    return std::to_string(parts.size()) + " parts instead of " + *number;
  // How much is left out is not known when parts are cut.
  if (number &&
      (job.command == "set" ||
       has_any(job.options, {"--unique", "--count", "--sum", "--mean", "--min", "--max", "--first",
                             "--last", "--collect", "--skip", "--limit", "--head-count"}))) {
    return "";
  }
  // Joins count the header among what is divided.
  std::size_t total = job.command == "join" ? header_bytes : 0;
  for (const std::string& record : all) total += record.size();
  const bool are_fixed = kind_of(job) == Kind::binary && !has(job.options, "--keep-order") &&
                         (job.command == "sort" || job.command == "join");
  const std::vector<std::size_t> counts =
      divided(all, are_fixed, header_bytes, wanted, most_bytes, total);
  std::vector<std::size_t> found;
  for (const Records& of_part : records) found.push_back(of_part.size());
  if (counts == found) return "";
  const auto at =
      static_cast<std::size_t>(std::ranges::mismatch(counts, found).in1 - counts.begin());
  return "part " + std::to_string(at) + " of " + std::to_string(found.size()) + " has " +
         (at < found.size() ? std::to_string(found[at]) : "no") + " records instead of " +
         (at < counts.size() ? std::to_string(counts[at]) : "none");
}

}  // namespace xxl::campaign
