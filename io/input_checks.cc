#include "io/input_checks.h"

#include <exception>
#include <string>

#include "base/error.h"
#include "base/units.h"

namespace xxl::io {

void check_whole_records(const File& file, std::uint64_t bytes, std::size_t record_bytes) {
  const std::uint64_t cut = bytes % record_bytes;
  if (cut == 0) return;
  throw Error(ErrorCode::bad_input,
              (cut == 1 ? "the last byte is" : "the last " + std::to_string(cut) + " bytes are") +
                  std::string(" not a whole record of ") + format_count(record_bytes, "byte") +
                  ": check --record",
              file.path(), bytes - cut);
}

void check_read(const File& file, std::uint64_t offset, std::size_t wanted,
                const Completion& completion) {
  if (completion.error != 0) {
    if (file.decoder() != nullptr && file.decoder()->failure() != nullptr) {
      std::rethrow_exception(file.decoder()->failure());
    }
    throw_io_error(completion.error, Operation::read, file.path(), offset);
  }
  if (completion.bytes >= wanted) return;
  throw_shorter(file, offset + completion.bytes);
}

void throw_shorter(const File& file, std::uint64_t offset) {
  throw Error(ErrorCode::bad_input,
              "the file ends here, and had " + std::to_string(file.size()) +
                  " bytes before: it became shorter while it was being read",
              file.path(), offset);
}

}  // namespace xxl::io
