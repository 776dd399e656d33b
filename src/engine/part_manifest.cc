#include "engine/part_manifest.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/sector_checksum.h"
#include "base/units.h"
#include "io/write_comparison.h"

namespace xxl {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kFormat = "xxl parts 1";
constexpr std::string_view kChecksumPrefix = "xxh3-4k:";
constexpr std::string_view kNotInNames("/\0", 2);

std::string checksum_text(std::uint64_t checksum) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016jx", static_cast<std::uintmax_t>(checksum));
  return std::string(kChecksumPrefix) + digits;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::bad_input, "is not a manifest of parts: " + why, path);
}

// Not what is negative, has a fraction, or is true or false, which the library would convert.
std::uint64_t count_of(const Json& json, const char* name) {
  const Json& count = json.at(name);
  if (!count.is_number_unsigned()) throw std::invalid_argument(name + std::string(" is no count"));
  return count.get<std::uint64_t>();
}

std::uint64_t checksum_of(std::string_view text) {
  std::uint64_t checksum = 0;
  if (!text.starts_with(kChecksumPrefix)) throw std::invalid_argument("unknown checksum");
  text.remove_prefix(kChecksumPrefix.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), checksum, 16);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument("malformed checksum");
  }
  return checksum;
}

PartManifest::Part part_of(const Json& json) {
  PartManifest::Part part;
  json.at("file").get_to(part.file);
  part.records = count_of(json, "records");
  part.bytes = count_of(json, "bytes");
  if (part.records > 0) {
    part.first_key = json.value("first_key", "");
    part.last_key = json.value("last_key", "");
  }
  part.checksum = checksum_of(json.at("checksum").get<std::string>());
  const bool is_plain = !part.file.empty() && part.file != "." && part.file != ".." &&
                        part.file.find_first_of(kNotInNames) == std::string::npos;
  if (!is_plain) throw std::invalid_argument("a file outside of the directory");
  return part;
}

}  // namespace

std::string PartManifest::text() const {
  Json json;
  json["format"] = kFormat;
  json["record"] = record;
  std::uint64_t records = 0, bytes = 0;
  for (const Part& part : parts) {
    records += part.records;
    bytes += part.bytes;
  }
  json["records"] = records;
  json["bytes"] = bytes;
  Json& files = json["files"] = Json::array();
  for (const Part& part : parts) {
    Json file;
    file["file"] = part.file;
    file["records"] = part.records;
    file["bytes"] = part.bytes;
    if (part.records > 0) {
      file["first_key"] = part.first_key;
      file["last_key"] = part.last_key;
    }
    file["checksum"] = checksum_text(part.checksum);
    files.push_back(std::move(file));
  }
  // Bytes of keys that are not UTF-8 become U+FFFD.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
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
    const Json json = Json::parse(text);
    if (json.at("format").get<std::string>() != kFormat) refuse(path, "of another format");
    PartManifest manifest;
    json.at("record").get_to(manifest.record);
    std::set<std::string> names;
    for (const Json& part : json.at("files")) {
      manifest.parts.push_back(part_of(part));
      if (!names.insert(manifest.parts.back().file).second) {
        throw std::invalid_argument("a file is there twice");
      }
    }
    return manifest;
  } catch (const nlohmann::json::exception& error) {
    refuse(path, error.what());
  } catch (const std::logic_error& error) {
    refuse(path, error.what());
  }
}

std::optional<PartManifest> read_manifest(const std::string& directory) {
  const std::string path = directory + "/" + kManifestName;
  std::ifstream file(path);
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw_io_error(errno, Operation::open_input, path);
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return parse_manifest(text, path);
}

// Empty files say nothing; of several, one is enough.
std::vector<std::string> with_parts(const std::vector<std::string>& paths) {
  std::vector<std::string> result;
  for (const std::string& path : paths) {
    std::error_code error;
    const auto manifest =
        path != "-" && fs::is_directory(path, error) ? read_manifest(path) : std::nullopt;
    if (!manifest || manifest->parts.empty()) {
      result.push_back(path);
      continue;
    }
    const std::size_t before = result.size();
    for (const PartManifest::Part& part : manifest->parts) {
      const bool is_last = &part == &manifest->parts.back();
      if (part.bytes == 0 && !(is_last && result.size() == before)) continue;
      std::string file = path + (path.ends_with('/') ? "" : "/") + part.file;
      const std::uintmax_t bytes = fs::file_size(file, error);
      if (error) throw_io_error(error.value(), Operation::open_input, file);
      if (bytes != part.bytes) {
        throw Error(ErrorCode::bad_input,
                    "has " + std::to_string(bytes) + " bytes, and " + std::to_string(part.bytes) +
                        " in the manifest of its directory",
                    file);
      }
      result.push_back(std::move(file));
    }
  }
  return result;
}

void check_replaceable_parts(const std::string& directory) {
  constexpr const char* kWhatToDo =
      ", so it is not replaced by parts: remove it, or give another name";
  const auto manifest = read_manifest(directory);
  if (!manifest) {
    throw Error(ErrorCode::io, std::string("is a directory without parts") + kWhatToDo, directory);
  }
  std::set<std::string> known{kManifestName};
  for (const PartManifest::Part& part : manifest->parts) known.insert(part.file);
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (known.contains(name)) continue;
    throw Error(ErrorCode::io, "holds other files than its parts (" + name + ")" + kWhatToDo,
                directory);
  }
}

}  // namespace xxl
