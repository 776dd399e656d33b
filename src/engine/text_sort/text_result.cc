#include "engine/text_sort/text_result.h"

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace xxl {

void TextResult::open(const Inputs& inputs) {
  const bool whole = inputs.size_known && !options_.skip && !options_.limit &&
                     !options_.has_groups() && options_.output_codec() == Codec::none;
  destination_.open(!options_.merge_only || inputs.size_known,
                    whole ? inputs.bytes + inputs.files.size() : 0);
}

void TextResult::begin(std::uint64_t text_bytes, std::optional<std::string> header,
                       io::IoService& io) {
  tickets_ = {};
  destination_.begin(text_bytes, options_.keys_of_parts ? options_.keys_of_parts() : nullptr,
                     options_.output_syntax().record_bytes, memory_, io);
  write_header(std::move(header));
}

// It comes before all records.
void TextResult::write_header(std::optional<std::string> header) {
  if (options_.header_kept) header = options_.header_kept();
  if (!header || options_.keep_header) return;
  if (options_.header_written) header = options_.header_written(*header);
  text().write_header(tickets_++, *header, options_.output_syntax());
}

// On a disk, one file after the other keeps it busy.
std::size_t TextResult::streams(std::uint64_t text_bytes, std::size_t runs,
                                std::uint64_t cell_bytes) const {
  constexpr std::uint64_t kLeastCellsOfPart = 8;    // cutting takes about as long as sorting one
  constexpr std::size_t kMostCutBytes = 16 * kMiB;  // tables of where runs are cut
  if (!destination_.is_parts_in_memory() || destination_.parts()->have_key()) return 1;
  const std::uint64_t part_bytes =
      options_.parts != 0 ? text_bytes / options_.parts : options_.part_bytes;
  if (part_bytes < kLeastCellsOfPart * cell_bytes ||
      text_bytes / part_bytes * runs * sizeof(std::size_t) > kMostCutBytes) {
    return 1;
  }
  // Each worker may keep two blocks, and each stream one at both of its ends.
  const std::size_t blocks = destination_.text().buffers(), kept = 2 * memory_.threads() + 4;
  const std::size_t most =
      std::min<std::size_t>(memory_.threads(), (blocks - std::min(blocks, kept)) / 2);
  return std::clamp<std::size_t>(text_bytes / part_bytes, 1, std::max<std::size_t>(most, 1));
}

}  // namespace xxl
