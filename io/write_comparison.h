// Compares a file that is read with what was written to it (docs/internals/checksums.md).
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "io/file.h"
#include "io/transfer.h"
#include "io/write_log.h"

namespace xxl::io {

// Compares a file, read from its start to its end, with what was written.
class WriteComparison {
 public:
  // The references must outlive it; nothing more is written.
  WriteComparison(const File& file, WriteLog& log)
      : file_(file), next_(log.pieces().begin()), end_(log.pieces().end()) {}

  // The next bytes of the file: whole pieces, but for zeros that were written behind its end, up to
  // the end of a sector, for which there is room, and which come there. Throws Error{corrupt}.
  void add(std::span<std::byte> data);
  // At the end of the file. Throws Error{corrupt}.
  void finish() const;

 private:
  const File& file_;
  std::vector<WriteLog::LoggedWrite>::const_iterator next_;
  const std::vector<WriteLog::LoggedWrite>::const_iterator end_;
  std::uint64_t offset_ = 0;
};

// Bytes of `file`, which must have them: if what is written to it is noted, compared with that, and
// otherwise as they are. Throws Error: corrupt if they are something else.
std::vector<std::byte> read_compared(const File& file, std::uint64_t offset, std::size_t bytes);

// Gives `file`, of `bytes`, from its start to its end to take(offset, data), in pieces of `buffer`,
// of whole MiB: if what is written to it is noted, compared with that. Throws Error.
template <class Take>
void read_written(const File& file, std::uint64_t bytes, std::span<std::byte> buffer, Take&& take) {
  std::optional<WriteComparison> comparison;
  if (WriteLog* const log = file.write_log()) comparison.emplace(file, *log);
  for (std::uint64_t offset = 0; offset < bytes;) {
    const std::span<std::byte> data = buffer.first(read_at(file, offset, buffer));
    if (data.empty()) throw_io_error(EIO, "ends too early", file.path(), offset);
    if (comparison) comparison->add(data);
    take(offset, data);
    offset += data.size();
  }
  if (comparison) comparison->finish();
}

}  // namespace xxl::io
