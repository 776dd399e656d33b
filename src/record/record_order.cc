#include "record/record_order.h"

#include "record/native_key.h"

namespace xxl {
namespace {

template <class Word>
std::optional<std::uint64_t> first_native_disorder(const KeyLayout& layout,
                                                   std::span<const std::byte> records) {
  const KeyTransform transform = layout.transform();
  const std::size_t record_bytes = layout.record_bytes();
  Word previous = 0;
  for (std::size_t at = 0; at < records.size(); at += record_bytes) {
    const Word key = native_key<Word>(records.data() + at, transform);
    if (key < previous) return at / record_bytes;
    previous = key;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> first_disorder(const KeyLayout& layout,
                                            std::span<const std::byte> records) {
  if (is_native32(layout.kind())) return first_native_disorder<std::uint32_t>(layout, records);
  if (is_native64(layout.kind())) return first_native_disorder<std::uint64_t>(layout, records);
  const std::size_t record_bytes = layout.record_bytes();
  for (std::size_t at = record_bytes; at < records.size(); at += record_bytes) {
    const std::byte* const record = records.data() + at;
    if (layout.compare(record - record_bytes, record) > 0) return at / record_bytes;
  }
  return std::nullopt;
}

}  // namespace xxl
