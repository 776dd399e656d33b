#include "io/read_back.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/monitor.h"
#include "io/ahead_reader.h"
#include "io/open_beside.h"
#include "io/write_comparison.h"

namespace xxl::io {
namespace {

// A buffer is compared while the other one is read.
constexpr std::size_t kMemoryBytes = std::size_t{2} * 4 * WriteLog::kPieceBytes;

// What was compared, for one who reads it in order: a request is answered when it is made.
class ComparedStream final : public IoQueue {
 public:
  // The references must outlive it.
  ComparedStream(AheadReader& reader, WriteComparison& comparison, const ReadBack::Advance& advance)
      : reader_(reader), comparison_(comparison), advance_(advance) {}

  void submit(Request request) noexcept override {
    Completion done;
    try {
      while (done.bytes < request.data.size() && fill()) {
        const std::size_t bytes = std::min(ready_.size(), request.data.size() - done.bytes);
        std::memcpy(request.data.data() + done.bytes, ready_.data(), bytes);
        done.bytes += bytes;
        ready_ = ready_.subspan(bytes);
      }
    } catch (...) {
      failure_ = std::current_exception();
      done.error = EIO;
    }
    request.done(done);
  }
  void register_memory(std::span<std::byte>) override {}
  QueueStats stats() const override { return {}; }  // those of the file's queue count
  std::string name() const override { return "compared"; }

  // Compares what nobody has read.
  void finish() {
    rethrow();
    do ready_ = {};
    while (fill());
    comparison_.finish();
  }
  // What a request failed with.
  void rethrow() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  // False at the end.
  bool fill() {
    if (!ready_.empty()) return true;
    const std::span<std::byte> data = reader_.next();
    if (data.empty()) return false;
    comparison_.add(data);
    if (advance_) advance_(data.size());
    ready_ = data;
    return true;
  }

  AheadReader& reader_;
  WriteComparison& comparison_;
  const ReadBack::Advance& advance_;
  std::span<const std::byte> ready_;
  std::exception_ptr failure_;
};

}  // namespace

ReadBack::ReadBack(IoService& io, std::stop_token stop, Advance advance)
    : io_(io), stop_(std::move(stop)), advance_(std::move(advance)), memory_(kMemoryBytes) {}

// A descriptor of its own: the flags of the other one stay. Where that cannot be had, for lack of
// /proc, another for the same, as it is. What the page cache has is dropped, for file systems
// without direct transfers.
File ReadBack::open_again(const File& file) {
  int fd = open(descriptor_path(file.fd()).c_str(), O_RDONLY | O_CLOEXEC);
  const int error = errno;
  const bool shared = fd < 0 && (fcntl(file.fd(), F_GETFL) & O_ACCMODE) == O_RDWR;
  if (shared) fd = fcntl(file.fd(), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) throw_io_error(error, "cannot be opened to be read back (--verify)", file.path());
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  return {fd, file.path(), shared ? file.direct() : enable_direct(fd)};
}

void ReadBack::check(const File& file, WriteLog& log) {
  File again = open_again(file);
  WriteComparison comparison(again, log);
  Monitor monitor(stop_);
  AheadReader reader(again, memory_.span(), io_, monitor);
  ComparedStream stream(reader, comparison, advance_);
  monitor.run([&] {
    if (reader_) {
      File as_stream = File::of_caller(stream, file.path());
      try {
        reader_(as_stream);
      } catch (...) {
        stream.rethrow();  // it says more
        throw;
      }
    }
    stream.finish();
  });
}

}  // namespace xxl::io
