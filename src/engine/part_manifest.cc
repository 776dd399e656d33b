#include "engine/part_manifest.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/sector_checksum.h"
#include "base/units.h"
#include "io/transfer.h"

namespace xxl {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kFormat = "xxl parts 1";
constexpr const char* kChecksumPrefix = "xxh3-4k:";

std::string checksum_text(std::uint64_t checksum) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016jx", static_cast<std::uintmax_t>(checksum));
  return kChecksumPrefix + std::string(digits);
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::bad_input, "is not a manifest of parts: " + why, path);
}

PartManifest::Part part_of(const Json& json) {
  PartManifest::Part part;
  json.at("file").get_to(part.file);
  json.at("records").get_to(part.records);
  json.at("bytes").get_to(part.bytes);
  part.first_key = json.value("first_key", "");
  part.last_key = json.value("last_key", "");
  const auto checksum = json.at("checksum").get<std::string>();
  if (!checksum.starts_with(kChecksumPrefix)) throw std::invalid_argument("unknown checksum");
  part.checksum = std::stoull(checksum.substr(std::string(kChecksumPrefix).size()), nullptr, 16);
  const bool is_plain = !part.file.empty() && part.file.find('/') == std::string::npos &&
                        part.file != "." && part.file != "..";
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

FileSum sum_of(const io::File& file) {
  const MemoryRegion buffer(kMiB);
  FileSum sum;
  for (std::size_t read = buffer.size(); read == buffer.size(); sum.bytes += read) {
    read = io::read_at(file, sum.bytes, buffer.span());
    sum.checksum += sector_checksum(buffer.span().first(read), sum.bytes / kSectorBytes);
  }
  return sum;
}

std::optional<PartManifest> read_manifest(const std::string& directory) {
  const std::string path = directory + "/" + kManifestName;
  std::ifstream file(path);
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw_io_error(errno, Operation::open_input, path);
  }
  try {
    const Json json = Json::parse(file);
    if (json.at("format").get<std::string>() != kFormat) refuse(path, "of another format");
    PartManifest manifest;
    json.at("record").get_to(manifest.record);
    for (const Json& part : json.at("files")) manifest.parts.push_back(part_of(part));
    return manifest;
  } catch (const nlohmann::json::exception& error) {
    refuse(path, error.what());
  } catch (const std::logic_error& error) {
    refuse(path, error.what());
  }
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
