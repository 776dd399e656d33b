#include "engine/cluster/rank_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "engine/cluster/message.h"
#include "engine/output.h"
#include "engine/part_files.h"
#include "engine/part_manifest.h"
#include "run/part_sink.h"

namespace xxl {
namespace {

bool names_directory(const std::string& path) {
  std::error_code error;
  return path.ends_with('/') || std::filesystem::is_directory(path, error);
}

}  // namespace

RankOutput::RankOutput(const SortOptions& options, std::uint64_t records, Peers& peers)
    : options_(options), peers_(peers), record_bytes_(options.output_format().record_bytes) {
  const std::string& path = options.output;
  if (path == "-") {
    throw Error(ErrorCode::usage, "ranks write a file or a directory: give its name with -o");
  }
  if (options.output_codec() != Codec::none) {
    throw Error(ErrorCode::usage, "several ranks cannot write a compressed file", path);
  }
  if (gather(peers, names_directory(path)).front()) {
    divide(records);
    open_directory();
    return;
  }
  if (options.unique || options.fold.folds()) {
    throw Error(ErrorCode::usage,
                "several ranks write groups of equal keys to a directory only, as the sizes of "
                "parts are not known: give its name with a slash",
                path);
  }
  step_ = kSectorBytes / std::gcd<std::uint64_t>(record_bytes_, kSectorBytes);
  divide(records);
  if (!is_first()) return;
  if (!io::OutputFile::is_replaceable(path)) {
    throw Error(ErrorCode::usage, "is no file, which several ranks could write", path);
  }
  one_.emplace(path, true, options.scratch_dirs);
  one_->reserve(0, round_up<std::uint64_t>(start_bytes(peers.ranks()), kSectorBytes));
}

void RankOutput::divide(std::uint64_t records) {
  const std::uint64_t first = std::min(options_.skip, records);
  const std::uint64_t written = options_.written_of(records), ranks = peers_.ranks();
  starts_.clear();
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    const std::uint64_t start = written / ranks * rank + written % ranks * rank / ranks;
    starts_.push_back(first + start / step_ * step_);
  }
  starts_.push_back(first + written);
}

void RankOutput::open_directory() {
  directory_.emplace(options_.output, check_replaceable_parts);
  const std::string name = part_name(peers_.rank());
  // Where there are no unnamed files, the first one makes the directory for all.
  if (is_first()) file_ = directory_->create(name, true);
  const std::string made = told_by_first(directory_->temp_name());
  if (!is_first()) {
    if (!made.empty()) directory_->join(made);
    file_ = directory_->create(name, true);
  }
  file_.reserve(0, round_up<std::uint64_t>(own_bytes(), kSectorBytes));
  parts_.emplace(PartRules{.parts = 1}, kSectorBytes);
  parts_->expect(own_bytes());
}

// A step of all ranks: the text of rank 0.
std::string RankOutput::told_by_first(const std::string& text) {
  MessageWriter writer;
  writer.put_text(text);
  const std::vector<Message> messages = tell_all(peers_, writer.take());
  return MessageReader(messages.front()).get_text();
}

void RankOutput::share() {
  if (directory_) return;
  const std::string path = told_by_first(is_first() ? one_->shared_path() : "");
  if (is_first()) return;
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) throw_io_error(errno, Operation::open_output, options_.output);
  file_ = io::File(fd, options_.output, io::enable_direct(fd));
}

std::unique_ptr<ByteSink> RankOutput::make_sink(std::size_t block_bytes, io::IoService& io) {
  if (directory_) {
    return std::make_unique<PartSink>(
        *parts_, block_bytes,
        [this](std::size_t, std::uint64_t) -> const io::File& { return file_; }, io);
  }
  const io::File& file = is_first() ? one_->file() : file_;
  return std::make_unique<FileBytes>(file, block_bytes, io, nullptr, start_bytes(peers_.rank()));
}

void RankOutput::publish() {
  if (directory_) return publish_directory();
  if (!is_first() && fsync(file_.fd()) != 0) throw_io_error(errno, "cannot sync", file_.path());
  gather(peers_, true);  // all have
  if (is_first()) one_->publish(start_bytes(peers_.ranks()));
  gather(peers_, true);  // it has appeared
}

void RankOutput::publish_directory() {
  const std::string made = told_by_first(is_first() ? directory_->make() : "");
  if (!is_first()) directory_->join(made);
  const OutputPart part = parts_->parts().front();
  const std::string name = part_name(peers_.rank());
  directory_->add(file_, name, part.bytes);
  const PartManifest::Part own = described_part(file_, part, 0, options_.key_text);
  MessageWriter writer;
  writer.put(own.records);
  writer.put(own.bytes);
  writer.put(own.checksum);
  writer.put_text(own.first_key);
  writer.put_text(own.last_key);
  PartManifest manifest;
  manifest.record = options_.record_kind;
  for (const Message& message : tell_all(peers_, writer.take())) {
    MessageReader reader(message);
    PartManifest::Part& entry = manifest.parts.emplace_back();
    entry.file = part_name(manifest.parts.size() - 1);
    entry.records = reader.get<std::uint64_t>();
    entry.bytes = reader.get<std::uint64_t>();
    entry.checksum = reader.get<std::uint64_t>();
    entry.first_key = reader.get_text();
    entry.last_key = reader.get_text();
  }
  if (is_first()) {
    directory_->add(kManifestName, manifest.text());
    directory_->publish();
  }
  gather(peers_, true);  // it has appeared
}

}  // namespace xxl
