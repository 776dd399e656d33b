#include "job/part_manifest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "base/error.h"
#include "base/memory_region.h"
#include "base/quote.h"
#include "base/sector_checksum.h"
#include "base/units.h"
#include "io/write_comparison.h"
#include "record/record_format.h"

namespace xxl {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "xxl parts 1";
constexpr std::string_view kOfPart = "xxh3-4k:";   // prefix of its checksum
constexpr std::string_view kOfManifest = "xxh3:";  // of that of the manifest itself
constexpr std::string_view kNotInNames("/\0", 2);
constexpr std::string_view kPartPrefix = "part-";
constexpr std::size_t kPartDigits = 5;  // at least

// What is wrong in a manifest, and at which place.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string checksum_text(std::string_view prefix, std::uint64_t checksum) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016jx", static_cast<std::uintmax_t>(checksum));
  return std::string(prefix) + digits;
}

const Json& member(const Json& json, const char* name) {
  if (!json.is_object()) throw Fault("not an object with a member '" + std::string(name) + "'");
  const auto found = json.find(name);
  if (found == json.end()) throw Fault("no member '" + std::string(name) + "'");
  return *found;
}

const std::string& text_of(const Json& json, const char* name) {
  const Json& text = member(json, name);
  if (!text.is_string()) throw Fault("'" + std::string(name) + "' is not a text");
  return text.get_ref<const std::string&>();
}

// Not what is negative, has a fraction, or is true or false, which the library would convert.
std::uint64_t count_of(const Json& json, const char* name) {
  const Json& count = member(json, name);
  if (!count.is_number_unsigned()) throw Fault("'" + std::string(name) + "' is not a count");
  return count.get<std::uint64_t>();
}

std::uint64_t checksum_of(const Json& json, std::string_view prefix) {
  std::string_view text = text_of(json, "checksum");
  std::uint64_t checksum = 0;
  if (!text.starts_with(prefix)) throw Fault("'checksum' is of an unknown kind");
  text.remove_prefix(prefix.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), checksum, 16);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Fault("'checksum' is malformed");
  }
  return checksum;
}

bool is_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(kNotInNames) == std::string::npos;
}

// A name, or one in a directory NAME=VALUE.
bool is_in_directory(std::string_view file) {
  const std::size_t slash = file.find('/');
  if (slash == file.npos) return is_name(file);
  const std::string_view directory = file.substr(0, slash);
  return is_name(directory) && directory.find('=') != directory.npos &&
         is_name(file.substr(slash + 1));
}

PartManifest::Part part_of(const Json& json) {
  PartManifest::Part part;
  part.file = text_of(json, "file");
  part.records = count_of(json, "records");
  part.bytes = count_of(json, "bytes");
  if (part.records > 0) {
    if (json.contains("first_key")) part.first_key = text_of(json, "first_key");
    if (json.contains("last_key")) part.last_key = text_of(json, "last_key");
  }
  part.checksum = checksum_of(json, kOfPart);
  if (!is_in_directory(part.file)) {
    throw Fault("'file' is not the name of a file in the directory");
  }
  return part;
}

std::vector<PartManifest::Part> parts_of(const Json& files) {
  if (!files.is_array() || files.empty()) throw Fault("'files' is not a list of at least one file");
  std::vector<PartManifest::Part> parts;
  std::set<std::string> names;
  for (const Json& file : files) {
    try {
      PartManifest::Part part = part_of(file);
      if (!names.insert(part.file).second) throw Fault("the same file as one before");
      parts.push_back(std::move(part));
    } catch (const Fault& fault) {
      throw Fault("entry " + std::to_string(parts.size() + 1) + " of 'files': " + fault.what());
    }
  }
  return parts;
}

struct Totals {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
};

void add(std::uint64_t& total, std::uint64_t count, const char* name) {
  if (__builtin_add_overflow(total, count, &total)) {
    throw Fault("'" + std::string(name) + "' of all files are more than a count can be");
  }
}

Totals totals_of(const PartManifest& manifest) {
  Totals totals;
  for (const PartManifest::Part& part : manifest.parts) {
    add(totals.records, part.records, "records");
    add(totals.bytes, part.bytes, "bytes");
  }
  return totals;
}

void check_total(const Json& json, const char* name, std::uint64_t sum) {
  if (!json.contains(name)) return;
  const std::uint64_t total = count_of(json, name);
  if (total == sum) return;
  throw Fault("'" + std::string(name) + "' is " + std::to_string(total) + ", but its files have " +
              std::to_string(sum) + ": an entry was changed or is missing");
}

bool can_have(const std::string& kind, std::uint64_t records, std::uint64_t bytes) {
  if (kind == "parquet" || kind == "arrow") return true;
  if (kind == "lines" || kind == "csv" || kind == "tsv" || kind == "jsonl") {
    return records <= bytes;  // with their ends
  }
  try {
    const std::size_t record_bytes = parse_record_format(kind).record_bytes;
    return bytes / record_bytes == records && bytes % record_bytes == 0;
  } catch (const Error&) {
    throw Fault("'record' is not a kind of records: " + quote_name_always(kind));
  }
}

void check_sizes(const PartManifest& manifest) {
  for (const PartManifest::Part& part : manifest.parts) {
    if (can_have(manifest.record, part.records, part.bytes)) continue;
    throw Fault(quote_controls(part.file) + " cannot have " + std::to_string(part.records) +
                " records of " + manifest.record + " in " + std::to_string(part.bytes) + " bytes");
  }
}

// Appends `json` with `indent` spaces at the beginning of each line but the first. Bytes of keys
// that are not UTF-8 become U+FFFD.
void append(std::string& text, const Json& json, std::size_t indent) {
  for (const char c : json.dump(1, ' ', false, Json::error_handler_t::replace)) {
    text += c;
    if (c == '\n') text.append(indent, ' ');
  }
}

Json entry_of(const PartManifest::Part& part) {
  Json file;
  file["file"] = part.file;
  file["records"] = part.records;
  file["bytes"] = part.bytes;
  if (part.records > 0) {
    file["first_key"] = part.first_key;
    file["last_key"] = part.last_key;
  }
  file["checksum"] = checksum_text(kOfPart, part.checksum);
  return file;
}

constexpr std::string_view kEndOfFiles = "\n ]";
constexpr std::string_view kEnd = "\n}\n";

ManifestText manifest_text(const PartManifest& manifest, const Totals& totals) {
  ManifestText text(manifest.record, totals.records, totals.bytes);
  for (const PartManifest::Part& part : manifest.parts) text.add(part);
  return text;
}

// Line and column of the byte in front of which `text` is no JSON any more.
std::string place_of(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
  const std::size_t line_start = before.rfind('\n') + 1;  // 0 without one
  return "line " + std::to_string(1 + std::ranges::count(before, '\n')) + ", column " +
         std::to_string(1 + before.size() - line_start);
}

Json json_of(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw Fault(place_of(text, error.byte) + ": not valid JSON");
  } catch (const Json::out_of_range&) {
    throw Fault("a number in it is too large");
  }
}

PartManifest manifest_of(std::string_view text) {
  const Json json = json_of(text);
  if (text_of(json, "format") != kFormat) {
    throw Fault("'format' is not '" + std::string(kFormat) + "'");
  }
  PartManifest manifest;
  manifest.record = text_of(json, "record");
  manifest.parts = parts_of(member(json, "files"));
  const Totals totals = totals_of(manifest);
  check_total(json, "records", totals.records);
  check_total(json, "bytes", totals.bytes);
  check_sizes(manifest);
  if (json.contains("checksum") &&
      checksum_of(json, kOfManifest) != manifest_text(manifest, totals).checksum()) {
    throw Fault("it was changed after it was written, so that its checksum differs");
  }
  return manifest;
}

}  // namespace

ManifestText::ManifestText(const std::string& record, std::uint64_t records, std::uint64_t bytes) {
  Json json;
  json["format"] = kFormat;
  json["record"] = record;
  json["records"] = records;
  json["bytes"] = bytes;
  append(text_, json, 0);
  text_.resize(text_.rfind('\n'));
  text_ += ",\n \"files\": [";
}

void ManifestText::add(const PartManifest::Part& part) {
  text_ += text_.ends_with('[') ? "\n  " : ",\n  ";
  append(text_, entry_of(part), 2);
}

std::uint64_t ManifestText::checksum() {
  const std::size_t size = text_.size();
  text_.append(kEndOfFiles).append(kEnd);
  const std::uint64_t checksum = block_checksum(std::as_bytes(std::span(text_)));
  text_.resize(size);
  return checksum;
}

std::string ManifestText::finish() && {
  const std::string checksum = checksum_text(kOfManifest, this->checksum());
  text_.append(kEndOfFiles).append(",\n \"checksum\": \"" + checksum + '"').append(kEnd);
  return std::move(text_);
}

std::string PartManifest::text() const {
  return manifest_text(*this, totals_of(*this)).finish();
}

std::string part_name(std::size_t part) {
  std::string digits = std::to_string(part);
  digits.insert(0, kPartDigits - std::min(kPartDigits, digits.size()), '0');
  return std::string(kPartPrefix) + digits;
}

std::string name_in_directory(std::size_t number) {
  return std::string(kPartPrefix) + std::to_string(number);
}

std::string part_ending(std::string_view record) {
  if (record == "lines") return ".txt";
  const bool has_its_own = record == "csv" || record == "tsv" || record == "jsonl" ||
                           record == "parquet" || record == "arrow";
  return has_its_own ? "." + std::string(record) : "";
}

std::optional<std::string> ending_of_part(std::string_view name) {
  if (!name.starts_with(kPartPrefix)) return std::nullopt;
  name.remove_prefix(kPartPrefix.size());
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  if (digits == 0) return std::nullopt;
  return std::string(name.substr(digits));
}

std::uint64_t part_checksum(const io::File& file, std::uint64_t bytes) {
  const MemoryRegion buffer(kMiB);
  std::uint64_t checksum = 0;
  io::read_written(file, bytes, buffer.span(),
                   [&](std::uint64_t offset, std::span<const std::byte> data) {
                     checksum += sector_checksum(data, offset / kSectorBytes);
                   });
  return checksum;
}

PartManifest parse_manifest(std::string_view text, const std::string& path) {
  try {
    return manifest_of(text);
  } catch (const Fault& fault) {
    throw Error(ErrorCode::bad_input,
                std::string("is not a valid manifest of parts: ") + fault.what() +
                    " (files can also be given by name)",
                path);
  }
}

bool is_meant_as_manifest(std::string_view text) {
  return text.find("\"xxl parts") != text.npos;
}

}  // namespace xxl
