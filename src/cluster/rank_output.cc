#include "cluster/rank_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "cluster/message.h"

namespace xxl {

RankOutput::RankOutput(const JobOptions& options, bool knows_sizes, Peers& peers)
    : options_(options), peers_(peers) {
  const std::string& path = options.output;
  if (is_rank_directory(options, peers)) {
    directory_.emplace(options, peers);
    return;
  }
  if (!knows_sizes) scratch_.emplace(options);
  if (!is_first()) return;
  if (!io::OutputFile::is_replaceable(path)) {
    throw Error(ErrorCode::usage, "is no file, which several ranks could write", path);
  }
  one_.emplace(path, true, options.scratch_dirs);
  if (one_->in_place()) one_->shared_path();  // throws, now and not at the end
}

void RankOutput::reserve(std::uint64_t bytes) {
  if (scratch_) scratch_->reserve(bytes / peers_.ranks());
  reserve_file(bytes);
}

void RankOutput::reserve_file(std::uint64_t bytes) {
  if (one_) one_->reserve(0, round_up<std::uint64_t>(bytes, kSectorBytes));
}

void RankOutput::place_parts(std::vector<std::uint64_t> starts) {
  starts_ = std::move(starts);
  if (!directory_) return reserve_file(starts_.back());
  const std::uint64_t own_bytes = starts_[peers_.rank() + 1] - starts_[peers_.rank()];
  directory_->reserve(own_bytes);
  directory_->parts().expect(own_bytes);
}

void RankOutput::share() {
  if (!directory_ && !scratch_) open_shared();
}

void RankOutput::open_shared() {
  const std::string path = told_by_first(peers_, is_first() ? one_->shared_path() : "");
  if (is_first()) return;
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) throw_io_error(errno, Operation::open_output, options_.output);
  file_ = io::File(fd, options_.output, io::enable_direct(fd));
}

std::unique_ptr<ByteSink> RankOutput::make_sink(std::size_t block_bytes, io::IoService& io) {
  if (directory_) return directory_->make_sink(block_bytes, io);
  if (scratch_) return scratch_->make_sink(block_bytes, io);
  const io::File& file = is_first() ? one_->file() : file_;
  return std::make_unique<FileBytes>(file, block_bytes, io, nullptr, starts_[peers_.rank()]);
}

OutputParts* RankOutput::parts() {
  if (directory_) return &directory_->parts();
  return scratch_ ? &scratch_->parts() : nullptr;
}

// The header of the first part is that of all.
void RankOutput::copy_part() {
  const OutputPart part = scratch_->parts().parts().front();
  const std::uint64_t skipped = is_first() ? 0 : part.header_bytes;
  starts_ = {0};
  for (const std::uint64_t bytes : gather(peers_, part.bytes - skipped)) {
    starts_.push_back(starts_.back() + bytes);
  }
  reserve_file(starts_.back());
  open_shared();
  scratch_->copy_to(is_first() ? one_->file() : file_, starts_, skipped, peers_);
}

void RankOutput::publish(std::size_t terminator_bytes) {
  if (directory_) return directory_->publish(terminator_bytes);
  if (scratch_) copy_part();
  if (!is_first() && fsync(file_.fd()) != 0) throw_io_error(errno, "cannot sync", file_.path());
  gather(peers_, true);  // all have
  if (is_first()) one_->publish(starts_.back());
  gather(peers_, true);  // it has appeared
}

}  // namespace xxl
