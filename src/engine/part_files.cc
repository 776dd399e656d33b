#include "engine/part_files.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "engine/part_directory.h"
#include "io/open_files.h"
#include "io/write_comparison.h"

namespace xxl {
namespace {

constexpr std::size_t kMostRecordBytes = 64 * kKiB;  // looked at for a key

}  // namespace

PartManifest::Part described_part(const io::File& file, const OutputPart& part,
                                  std::size_t terminator_bytes, const KeyText& key_text) {
  PartManifest::Part entry;
  entry.records = part.records;
  entry.bytes = part.bytes;
  entry.checksum = part.checksum;
  if (part.records == 0) return entry;
  const auto key_at = [&](std::uint64_t offset, std::uint64_t bytes) {
    bytes = std::min<std::uint64_t>(bytes - terminator_bytes, kMostRecordBytes);
    const auto read = io::read_compared(file, offset, static_cast<std::size_t>(bytes));
    std::string text(reinterpret_cast<const char*>(read.data()), read.size());
    if (key_text) text = key_text(text);
    return text.substr(0, kMostKeyBytes);
  };
  entry.first_key = key_at(part.header_bytes, part.first_bytes);
  entry.last_key = key_at(part.bytes - part.last_bytes, part.last_bytes);
  return entry;
}

PartFiles::PartFiles(const std::string& path, bool verify, std::string ending)
    : path_(path),
      verify_(verify),
      ending_(std::move(ending)),
      directory_(path, check_replaceable_parts) {
  io::allow_more_files();
}

std::string PartFiles::name_of(std::size_t part) const {
  return part_name(part) + ending_;
}

PartFiles::PartFile& PartFiles::open(std::size_t part, bool direct, std::uint64_t most) {
  std::lock_guard lock(mutex_);
  if (part >= kMostParts) {
    throw Error(ErrorCode::usage,
                "would get more than " + std::to_string(kMostParts) +
                    " parts: let them be larger (--part-bytes), or fewer (--parts)",
                path_);
  }
  if (files_.size() <= part) files_.resize(part + 1);
  if (files_[part] == nullptr) {
    files_[part] = std::make_unique<PartFile>(directory_.create(name_of(part), direct), most);
    if (verify_) files_[part]->file.log_writes();
  }
  return *files_[part];
}

const io::File& PartFiles::file(std::size_t part, std::uint64_t end, bool direct,
                                std::uint64_t most) {
  PartFile& file = open(part, direct, most);
  std::lock_guard lock(file.mutex);
  file.space.reserve_up_to(end);
  return file.file;
}

void PartFiles::publish(PartManifest manifest, bool has_checksums, io::ReadBack* read_back) {
  for (std::size_t i = 0; i < manifest.parts.size(); ++i) {
    PartManifest::Part& part = manifest.parts[i];
    const io::File& file = open(i, false, 0).file;
    part.file = name_of(i);
    part.first_key.resize(std::min(part.first_key.size(), kMostKeyBytes));
    part.last_key.resize(std::min(part.last_key.size(), kMostKeyBytes));
    directory_.add(file, part.file, part.bytes, read_back);
    if (!has_checksums) part.checksum = part_checksum(file, part.bytes);
  }
  directory_.add(kManifestName, manifest.text(), read_back);
  directory_.publish();
}

void PartFiles::publish(const std::vector<OutputPart>& parts, bool has_checksums,
                        const std::string& record, std::size_t terminator_bytes,
                        const KeyText& key_text, io::ReadBack* read_back) {
  PartManifest manifest;
  manifest.record = record;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const OutputPart& part = parts[i];
    const io::File& file = open(i, false, 0).file;
    manifest.parts.push_back(described_part(file, part, terminator_bytes, key_text));
  }
  publish(std::move(manifest), has_checksums, read_back);
}

}  // namespace xxl
