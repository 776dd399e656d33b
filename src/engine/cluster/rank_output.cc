#include "engine/cluster/rank_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "engine/cluster/message.h"

namespace xxl {

RankOutput::RankOutput(const SortOptions& options, std::uint64_t records, Peers& peers)
    : options_(options), peers_(peers), record_bytes_(options.output_format().record_bytes) {
  const std::string& path = options.output;
  if (is_rank_directory(options, peers)) {
    divide(records);
    directory_.emplace(options, peers);
    directory_->reserve(own_bytes());
    directory_->parts().expect(own_bytes());
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

void RankOutput::share() {
  if (directory_) return;
  const std::string path = told_by_first(peers_, is_first() ? one_->shared_path() : "");
  if (is_first()) return;
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) throw_io_error(errno, Operation::open_output, options_.output);
  file_ = io::File(fd, options_.output, io::enable_direct(fd));
}

std::unique_ptr<ByteSink> RankOutput::make_sink(std::size_t block_bytes, io::IoService& io) {
  if (directory_) return directory_->make_sink(block_bytes, io);
  const io::File& file = is_first() ? one_->file() : file_;
  return std::make_unique<FileBytes>(file, block_bytes, io, nullptr, start_bytes(peers_.rank()));
}

void RankOutput::publish() {
  if (directory_) return directory_->publish(0);
  if (!is_first() && fsync(file_.fd()) != 0) throw_io_error(errno, "cannot sync", file_.path());
  gather(peers_, true);  // all have
  if (is_first()) one_->publish(start_bytes(peers_.ranks()));
  gather(peers_, true);  // it has appeared
}

}  // namespace xxl
