#include "run/byte_sink.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace xxl {
namespace {

constexpr std::size_t kStdioBytes = 4096;  // of the C library, for pipes and devices

}  // namespace

std::exception_ptr write_failure(const io::Completion& completion, std::size_t bytes,
                                 const io::File& file, std::uint64_t offset, Operation operation) {
  if (completion.error == 0 && completion.bytes == bytes) return nullptr;
  try {
    throw_io_error(completion.error != 0 ? completion.error : EIO, operation, file.path(), offset);
  } catch (...) {  // (even std::bad_alloc)
    return std::current_exception();
  }
}

void FileBytes::put(std::uint64_t index, std::byte* buffer, std::size_t bytes, Done done) {
  const std::size_t padded = round_up(bytes, kSectorBytes);
  std::memset(buffer + bytes, 0, padded - bytes);
  io::Request request{io::Op::write, &file_, start_ + index * block_bytes_, {buffer, padded}, {}};
  if (reserve_) reserve_(request.offset + padded);
  file_.note_write(request.offset, {buffer, bytes});
  request.done = [this, offset = request.offset, padded, done = std::move(done),
                  token = in_flight_.begin()](const io::Completion& completion) mutable {
    done(write_failure(completion, padded, file_, offset));
    token.reset();
  };
  io_.queue_for(file_).submit(std::move(request));
}

void StreamBytes::put(std::uint64_t index, std::byte* buffer, std::size_t bytes, Done done) {
  io::Request request{io::Op::write, &file_, 0, {buffer, bytes}, {}};
  const bool is_short = index == 0 && bytes <= kStdioBytes;
  request.done = [this, bytes, operation = is_short ? Operation::write_short : Operation::write,
                  done = std::move(done),
                  token = in_flight_.begin()](const io::Completion& completion) mutable {
    std::exception_ptr failure =
        write_failure(completion, bytes, file_, Error::kNoOffset, operation);
    if (failure != nullptr) give_up();  // nothing may follow what is missing
    done(std::move(failure));
    submit_next(std::unique_lock(mutex_));
    token.reset();
  };
  std::unique_lock lock(mutex_);
  if (given_up_) return;
  waiting_.emplace(index, std::move(request));
  if (!writing_) submit_next(std::move(lock));
}

// Goes on with the block that is next, if it has come.
void StreamBytes::submit_next(std::unique_lock<std::mutex> lock) {
  writing_ = !waiting_.empty() && waiting_.begin()->first == next_;
  if (!writing_) return;
  io::Request request = std::move(waiting_.begin()->second);
  waiting_.erase(waiting_.begin());
  ++next_;
  request.offset = file_.seekable() ? position_ : io::Request::kStream;
  position_ += request.data.size();
  lock.unlock();  // (only one thread submits at a time)
  file_.note_write(request.offset, request.data);
  io_.queue_for(file_).submit(std::move(request));
}

void StreamBytes::give_up() {
  std::map<std::uint64_t, io::Request> forgotten;
  std::lock_guard lock(mutex_);
  given_up_ = true;
  forgotten.swap(waiting_);
}

}  // namespace xxl
