// The files of an output in parts: each block of the stream goes to the file, or files, of the
// parts that it holds (output_parts.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/in_flight.h"
#include "io/io_queue.h"
#include "run/byte_sink.h"
#include "run/output_parts.h"

namespace xxl {

class PartSink final : public ByteSink {
 public:
  // Gives the file of a part, with space for its first `end` bytes, open as long as the pointer is
  // held. From any thread; may throw Error, or wait until others are not held any more.
  using FileOf =
      std::function<std::shared_ptr<const io::File>(std::size_t part, std::uint64_t end)>;

  // `block_bytes`: of all blocks but the last. `parts` and `io` must outlive the sink.
  PartSink(OutputParts& parts, std::size_t block_bytes, FileOf file_of, io::IoService& io)
      : parts_(parts), block_bytes_(block_bytes), file_of_(std::move(file_of)), io_(io) {}

  bool in_order() const override { return false; }
  void put(std::uint64_t index, std::byte* buffer, std::size_t bytes, Done done) override;

 private:
  OutputParts& parts_;
  const std::size_t block_bytes_;
  const FileOf file_of_;
  io::IoService& io_;
  InFlight in_flight_;
};

}  // namespace xxl
