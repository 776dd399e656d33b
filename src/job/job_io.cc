#include "job/job_io.h"

#include "io/inline_queue.h"

namespace xxl {
namespace {

std::unique_ptr<io::IoService> make_io(const JobOptions& options, std::span<std::byte> memory,
                                       bool is_little) {
  if (options.queue_factory) return std::make_unique<io::IoService>(options.queue_factory);
  if (is_little) {
    return std::make_unique<io::IoService>([] { return std::make_unique<io::InlineQueue>(); });
  }
  return std::make_unique<io::IoService>(options.backend, memory);
}

}  // namespace

bool is_little(const JobOptions& options, std::optional<std::uint64_t> input_bytes) {
  return options.backend == Backend::automatic && !options.queue_factory && input_bytes &&
         *input_bytes <= kLittleBytes;
}

std::unique_ptr<io::IoService> open_io(const JobOptions& options, std::span<std::byte> memory,
                                       bool is_little) {
  std::unique_ptr<io::IoService> io = make_io(options, memory, is_little);
  io->trace(options.time_line);
  io->cancel_at(options.stop);
  return io;
}

std::string backend_name(const JobOptions& options, bool is_little) {
  return is_little ? "inline" : make_io(options, {}, false)->backend_name();
}

}  // namespace xxl
