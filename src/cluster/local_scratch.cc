#include "cluster/local_scratch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "cluster/message.h"

namespace xxl {
namespace {

// A file that a process has open.
struct OpenFile {
  pid_t process = 0;
  int fd = -1;
  dev_t device = 0;
  ino_t inode = 0;
};

Message files_of(const io::ScratchStore& scratch) {
  MessageWriter writer;
  for (unsigned disk = 0; disk < scratch.disks(); ++disk) {
    const std::span<const io::File> files = scratch.files(disk);
    writer.put(files.size());
    for (const io::File& file : files) {
      writer.put(OpenFile{getpid(), file.fd(), file.device(), file.inode()});
    }
  }
  return writer.take();
}

// For reading; nothing if it cannot be reached, or another process has that number here. (What that
// has open may be a pipe, and opening it would wait.)
std::optional<io::File> open_again(const OpenFile& told, const std::string& path) {
  const std::string name =
      "/proc/" + std::to_string(told.process) + "/fd/" + std::to_string(told.fd);
  struct stat found;
  if (stat(name.c_str(), &found) != 0 || found.st_dev != told.device ||
      found.st_ino != told.inode) {
    return std::nullopt;
  }
  const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  return io::File(fd, path, io::enable_direct(fd));
}

// All of them, or none.
std::vector<std::vector<io::File>> open_all(const Message& message, const io::ScratchStore& own) {
  std::vector<std::vector<io::File>> disks;
  for (MessageReader reader(message); !reader.at_end();) {
    auto& files = disks.emplace_back();
    for (auto count = reader.get<std::size_t>(); count > 0; --count) {
      auto file = open_again(reader.get<OpenFile>(), own.directory(0));
      if (!file) return {};
      files.push_back(std::move(*file));
    }
  }
  return disks;
}

}  // namespace

LocalScratch::LocalScratch(const io::ScratchStore& own, RunStore& own_blocks, io::IoService& io,
                           Peers& peers)
    : sources_(peers.ranks()) {
  const std::vector<Message> told = tell_all(peers, files_of(own));
  for (unsigned rank = 0; rank < peers.ranks(); ++rank) {
    if (rank == peers.rank()) sources_[rank] = &own_blocks;
    if (rank == peers.rank() || !peers.is_local(rank)) continue;
    auto files = open_all(told[rank], own);
    if (files.empty()) continue;
    opened_.push_back(std::make_unique<Opened>(std::move(files), own_blocks, io));
    sources_[rank] = &opened_.back()->blocks;
  }
  std::vector<Message> answers;
  for (const BlockSource* source : sources_) {
    MessageWriter writer;
    writer.put(source != nullptr);
    answers.push_back(writer.take());
  }
  for (const Message& answer : peers.exchange(std::move(answers))) {
    is_open_to_.push_back(MessageReader(answer).get<bool>());
  }
}

unsigned LocalScratch::disks() const {
  unsigned most = 1;
  for (const BlockSource* source : sources_) {
    if (source != nullptr) most = std::max(most, source->disks());
  }
  return most;
}

}  // namespace xxl
