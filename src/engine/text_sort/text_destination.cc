#include "engine/text_sort/text_destination.h"

#include <utility>

namespace xxl {

void TextDestination::open(bool is_known, std::uint64_t bytes) {
  if (shared_output() != nullptr) return;
  check_parts(job_, is_known);
  output_ = std::make_unique<Output>(job_, bytes);
}

TextOutput& TextDestination::begin(std::uint64_t bytes, std::shared_ptr<const KeyExtractor> key,
                                   std::size_t record_bytes, TextMemory& memory,
                                   io::IoService& io) {
  const std::size_t block_bytes = memory.geometry().output_block_bytes;
  text_.reset();  // uses the sink
  if (SharedText* const shared = shared_output()) {
    parts_ = &shared->parts();
    sink_ = shared->make_sink(block_bytes, io);
  } else {
    parts_ = output_->cut_parts(bytes, std::move(key), record_bytes);
    sink_ = output_->make_sink(block_bytes, memory.threads(), io, monitor_);
  }
  text_ =
      std::make_unique<TextOutput>(*sink_, memory.output_buffers(), block_bytes, monitor_, parts_);
  return *text_;
}

std::vector<MultisetHash> TextDestination::sums(std::span<const MultisetHash> counted) const {
  if (shared_ != nullptr) return shared_->sums(counted);
  return {counted.begin(), counted.end()};
}

bool TextDestination::publish(io::IoService& io, PhaseMeter& meter, io::ReadBack::Reader reader) {
  if (SharedText* const shared = shared_output()) {
    shared->publish();
    meter.end("finish");
    return false;
  }
  output_->publish(text_->bytes(), io, meter, WaitTimes(), std::move(reader));
  return output_->in_place();
}

}  // namespace xxl
