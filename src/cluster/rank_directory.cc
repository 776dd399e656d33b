#include "cluster/rank_directory.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "cluster/message.h"
#include "io/codec.h"
#include "job/part_directory.h"
#include "job/part_files.h"
#include "run/part_sink.h"

namespace xxl {
namespace {

bool names_directory(const std::string& path) {
  std::error_code error;
  return path.ends_with('/') || std::filesystem::is_directory(path, error);
}

}  // namespace

bool is_rank_directory(const JobOptions& options, Peers& peers) {
  if (options.output == "-") {
    throw Error(ErrorCode::usage, "ranks write a file or a directory: give its name with --output");
  }
  if (options.output_codec() != Codec::none) {
    throw Error(ErrorCode::usage, "several ranks cannot write a compressed file", options.output);
  }
  return gather(peers, names_directory(options.output)).front();
}

RankDirectory::RankDirectory(const JobOptions& options, Peers& peers, bool direct)
    : options_(options),
      peers_(peers),
      directory_(options.output, check_replaceable_parts),
      parts_(PartRules{.parts = 1}, kSectorBytes) {
  const std::string name = name_of(peers_.rank());
  // Where there are no unnamed files, the first one makes the directory for all.
  if (is_first()) file_ = directory_.create(name, direct);
  const std::string made = told_by_first(peers_, directory_.temp_name());
  if (is_first()) return;
  if (!made.empty()) directory_.join(made);
  file_ = directory_.create(name, direct);
}

std::string RankDirectory::name_of(std::size_t rank) const {
  return part_name(rank) + part_ending(options_.record_kind);
}

void RankDirectory::reserve(std::uint64_t bytes) {
  file_.reserve(0, round_up<std::uint64_t>(bytes, kSectorBytes));
}

std::unique_ptr<ByteSink> RankDirectory::make_sink(std::size_t block_bytes, io::IoService& io) {
  return std::make_unique<PartSink>(
      parts_, block_bytes,
      [this](std::size_t, std::uint64_t) {
        return std::shared_ptr<const io::File>(std::shared_ptr<void>(), &file_);
      },
      io);
}

void RankDirectory::publish(std::size_t terminator_bytes) {
  publish(described_part(file_, parts_.parts().front(), terminator_bytes, options_.key_text));
}

void RankDirectory::publish(const PartManifest::Part& own) {
  const std::string made = told_by_first(peers_, is_first() ? directory_.make() : "");
  if (!is_first()) directory_.join(made);
  directory_.add(file_, name_of(peers_.rank()), own.bytes);
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
    entry.file = name_of(manifest.parts.size() - 1);
    entry.records = reader.get<std::uint64_t>();
    entry.bytes = reader.get<std::uint64_t>();
    entry.checksum = reader.get<std::uint64_t>();
    entry.first_key = reader.get_text();
    entry.last_key = reader.get_text();
  }
  if (is_first()) {
    directory_.add(kManifestName, manifest.text());
    directory_.publish();
  }
  gather(peers_, true);  // it has appeared
}

}  // namespace xxl
