#include "engine/text_sort/text_result.h"

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace xxl {

void TextResult::open(const Inputs& inputs) {
  if (shared_output() != nullptr) return;
  check_parts(options_, !options_.merge_only || inputs.size_known);
  const bool whole = inputs.size_known && !options_.skip && !options_.limit &&
                     !options_.has_groups() && options_.output_codec() == Codec::none;
  output_ = std::make_unique<Output>(options_, whole ? inputs.bytes + inputs.files.size() : 0);
}

void TextResult::begin(std::uint64_t text_bytes, std::optional<std::string> header,
                       io::IoService& io) {
  const TextGeometry& geometry = memory_.geometry();
  tickets_ = {};
  text_.reset();  // uses the sink
  if (SharedText* const shared = shared_output()) {
    parts_ = &shared->parts();
    sink_ = shared->make_sink(geometry.output_block_bytes, io);
  } else {
    parts_ =
        output_->cut_parts(text_bytes, options_.keys_of_parts ? options_.keys_of_parts() : nullptr,
                           options_.output_syntax().record_bytes);
    sink_ = output_->make_sink(geometry.output_block_bytes, memory_.threads(), io, monitor_);
  }
  text_ = std::make_unique<TextOutput>(*sink_, memory_.output_buffers(),
                                       geometry.output_block_bytes, monitor_, parts_);
  write_header(std::move(header));
}

// It comes before all records.
void TextResult::write_header(std::optional<std::string> header) {
  if (options_.header_kept) header = options_.header_kept();
  if (!header || options_.keep_header) return;
  if (options_.header_written) header = options_.header_written(*header);
  text_->write_header(tickets_++, *header, options_.output_syntax());
}

// On a disk, one file after the other keeps it busy.
std::size_t TextResult::streams(std::uint64_t text_bytes, std::size_t runs,
                                std::uint64_t cell_bytes) const {
  constexpr std::uint64_t kLeastCellsOfPart = 8;    // cutting takes about as long as sorting one
  constexpr std::size_t kMostCutBytes = 16 * kMiB;  // tables of where runs are cut
  if (output_ == nullptr || !output_->is_parts_in_memory() || parts_->have_key()) return 1;
  const std::uint64_t part_bytes =
      options_.parts != 0 ? text_bytes / options_.parts : options_.part_bytes;
  if (part_bytes < kLeastCellsOfPart * cell_bytes ||
      text_bytes / part_bytes * runs * sizeof(std::size_t) > kMostCutBytes) {
    return 1;
  }
  // Each worker may keep two blocks, and each stream one at both of its ends.
  const std::size_t blocks = text_->buffers(), kept = 2 * memory_.threads() + 4;
  const std::size_t most =
      std::min<std::size_t>(memory_.threads(), (blocks - std::min(blocks, kept)) / 2);
  return std::clamp<std::size_t>(text_bytes / part_bytes, 1, std::max<std::size_t>(most, 1));
}

std::vector<MultisetHash> TextResult::sums(std::span<const MultisetHash> counted) const {
  if (options_.shared != nullptr) return options_.shared->sums(counted);
  return {counted.begin(), counted.end()};
}

bool TextResult::publish() {
  if (SharedText* const shared = shared_output()) {
    shared->publish();
    return false;
  }
  output_->publish(text_->bytes());
  return output_->in_place();
}

}  // namespace xxl
