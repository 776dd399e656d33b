#include "pipeline/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "run/sinks.h"

namespace xxl {

Output::Output(std::string path, std::vector<std::string> scratch_dirs, std::uint64_t bytes,
               bool direct)
    : path_(std::move(path)), scratch_dirs_(std::move(scratch_dirs)), direct_(direct) {
  if (path_ == "-") {
    stream_ = io::File::stream(dup(STDOUT_FILENO), "standard output");
  } else if (!io::OutputFile::is_replaceable(path_)) {
    const int fd = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) throw_io_error(errno, "cannot open for writing", path_);
    stream_ = io::File::stream(fd, path_);
  } else {
    open_file(bytes);
  }
}

void Output::open_file(std::uint64_t bytes) {
  file_ = std::make_shared<io::OutputFile>(path_, direct_, scratch_dirs_);
  reserve(0, round_up<std::uint64_t>(bytes, kSectorBytes));
}

void Output::reserve(std::uint64_t offset, std::uint64_t bytes) {
  if (is_file()) file_->reserve(offset, bytes);
}

std::uint64_t Output::free_bytes() const {
  return file_->free_bytes();
}

std::unique_ptr<BlockSink> Output::make_sink(std::size_t block_bytes, io::BufferPool& buffers,
                                             io::IoService& io, Mailbox& mailbox) {
  if (is_file()) {
    return std::make_unique<FileSink>(file_->file(), block_bytes, buffers, io, mailbox);
  }
  return std::make_unique<StreamSink>(stream_, block_bytes, buffers, io, mailbox);
}

std::shared_ptr<io::File> Output::start_again(std::uint64_t bytes) {
  std::shared_ptr<io::OutputFile> old = std::move(file_);
  open_file(bytes);
  return {old, &old->file()};
}

void Output::publish(std::uint64_t bytes) {
  if (is_file()) file_->publish(bytes);
}

}  // namespace xxl
