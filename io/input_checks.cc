#include "io/input_checks.h"

#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "base/error.h"

namespace xxl::io {

void check_whole_records(const File& file, std::uint64_t bytes, std::size_t record_bytes) {
  const std::uint64_t cut = bytes % record_bytes;
  if (cut == 0) return;
  throw Error(ErrorCode::bad_input,
              "the last " + std::to_string(cut) + " bytes are not a whole record of " +
                  std::to_string(record_bytes) + " bytes: check --record",
              file.path(), bytes - cut);
}

void check_read(const File& file, std::uint64_t offset, std::size_t wanted,
                const Completion& completion) {
  if (completion.error != 0) {
    throw_io_error(completion.error, "cannot read", file.path(), offset);
  }
  if (completion.bytes >= wanted) return;
  throw Error(ErrorCode::bad_input,
              "the file became shorter while it was being read: expected " +
                  std::to_string(file.size()) + " bytes",
              file.path(), offset + completion.bytes);
}

void check_not_grown(const File& file) {
  struct stat status;
  if (fstat(file.fd(), &status) != 0) throw_io_error(errno, "cannot examine", file.path());
  if (!file.seekable() || !S_ISREG(status.st_mode)) return;
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes <= file.size()) return;
  throw Error(ErrorCode::bad_input,
              "the file grew while it was being read, to " + std::to_string(bytes) + " bytes",
              file.path(), file.size());
}

}  // namespace xxl::io
