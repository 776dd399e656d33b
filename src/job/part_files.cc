#include "job/part_files.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "io/open_files.h"
#include "io/write_comparison.h"
#include "job/part_directory.h"

namespace xxl {
namespace {

constexpr std::size_t kMostRecordBytes = 64 * kKiB;  // looked at for a key

void cut_keys(PartManifest::Part& part, std::size_t parts) {
  const std::size_t most = parts > kMostPartsOfLongKeys ? kShortKeyBytes : kMostKeyBytes;
  part.first_key.resize(std::min(part.first_key.size(), most));
  part.last_key.resize(std::min(part.last_key.size(), most));
}

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
      directory_(path, check_replaceable_parts),
      most_open_(io::allow_part_files()) {}

std::string PartFiles::name_of(std::size_t part) const {
  return part_name(part) + ending_;
}

// Until the pointer is gone, it is open.
std::shared_ptr<PartFiles::PartFile> PartFiles::hold(std::size_t part, bool direct,
                                                     std::uint64_t most) {
  std::unique_lock lock(mutex_);
  if (part >= kMostParts) {
    throw Error(ErrorCode::usage,
                "would get more than " + std::to_string(kMostParts) +
                    " parts: let them be larger (--part-bytes), or fewer (--parts), or by a "
                    "column with fewer values (--part-by)",
                path_);
  }
  if (files_.size() <= part) files_.resize(part + 1);
  if (files_[part] == nullptr) files_[part] = std::make_unique<PartFile>(most);
  PartFile& file = *files_[part];
  changed_.wait(lock, [&] { return !file.is_opening; });
  if (!file.file.is_open()) {
    std::exception_ptr failure;
    file.is_opening = true;
    try {
      open(part, file, direct, lock);
    } catch (...) {
      failure = std::current_exception();
    }
    file.is_opening = false;
    changed_.notify_all();
    if (failure) std::rethrow_exception(failure);
  } else if (std::exchange(file.is_idle, false)) {
    idle_.erase(file.idle);
  }
  ++file.users;
  return {&file, [this, part](PartFile*) { let_go(part); }};
}

// Puts others aside, or waits until one can be.
void PartFiles::open(std::size_t part, PartFile& file, bool direct,
                     std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [&] { return open_ < most_open_ || !idle_.empty(); });
  if (open_ >= most_open_) {
    const std::size_t oldest = idle_.front();
    directory_.put_aside(files_[oldest]->file, name_of(oldest));
    files_[oldest]->is_idle = false;
    idle_.pop_front();
    --open_;
  }
  if (file.is_made) {
    directory_.take_up(file.file, name_of(part));
  } else {
    file.file = directory_.create(name_of(part), direct);
    file.is_made = true;
    if (verify_) file.file.log_writes();
  }
  ++open_;
}

void PartFiles::let_go(std::size_t part) {
  std::lock_guard lock(mutex_);
  PartFile& file = *files_[part];
  if (--file.users > 0) return;
  file.idle = idle_.insert(idle_.end(), part);
  file.is_idle = true;
  changed_.notify_all();
}

std::shared_ptr<const io::File> PartFiles::file(std::size_t part, std::uint64_t end, bool direct,
                                                std::uint64_t most) {
  std::shared_ptr<PartFile> held = hold(part, direct, most);
  std::lock_guard lock(held->mutex);
  held->space.reserve_up_to(end);
  return {held, &held->file};
}

// Different keys may have the same name: an empty text and null.
std::string PartFiles::move(const std::string& name, const std::string& directory) {
  std::string file;
  std::size_t number = 0;
  do {
    file = name_in_directory(number++) + ending_;
  } while (!directory_.move(name, directory, file));
  return path_in(directory, file);
}

void PartFiles::add(std::size_t number, PartManifest::Part& part, bool has_checksum,
                    io::ReadBack* read_back) {
  const std::shared_ptr<PartFile> held = hold(number, false, 0);
  const std::string name = name_of(number);
  directory_.add(held->file, name, part.bytes, read_back);
  if (part.file.empty()) {
    part.file = name;
  } else {
    part.file = move(name, part.file);
  }
  if (!has_checksum) part.checksum = part_checksum(held->file, part.bytes);
}

void PartFiles::publish(PartManifest manifest, bool has_checksums, io::ReadBack* read_back) {
  for (std::size_t i = 0; i < manifest.parts.size(); ++i) {
    add(i, manifest.parts[i], has_checksums, read_back);
    cut_keys(manifest.parts[i], manifest.parts.size());
  }
  directory_.add(kManifestName, manifest.text(), read_back);
  directory_.publish();
}

void PartFiles::publish(const std::vector<OutputPart>& parts, std::vector<std::string> directories,
                        bool has_checksums, const std::string& record, std::size_t terminator_bytes,
                        const KeyText& key_text, io::ReadBack* read_back) {
  std::uint64_t records = 0, bytes = 0;
  for (const OutputPart& part : parts) {
    records += part.records;
    bytes += part.bytes;
  }
  ManifestText text(record, records, bytes);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::shared_ptr<PartFile> held = hold(i, false, 0);
    PartManifest::Part entry = described_part(held->file, parts[i], terminator_bytes, key_text);
    if (i < directories.size()) entry.file = std::move(directories[i]);
    add(i, entry, has_checksums, read_back);
    cut_keys(entry, parts.size());
    text.add(entry);
  }
  directory_.add(kManifestName, std::move(text).finish(), read_back);
  directory_.publish();
}

}  // namespace xxl
