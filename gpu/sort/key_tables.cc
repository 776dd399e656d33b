#include "gpu/sort/key_tables.h"

#include <cstdint>
#include <vector>

#include "base/error.h"

namespace xxl::gpu {

KeyView upload_key_view(const KeyLayout& layout, std::byte* table, Stream& stream) {
  std::vector<KeyLayout::WordPart> segments;
  std::vector<std::uint32_t> first;
  for (std::size_t word = 0; word < layout.words(); ++word) {
    first.push_back(static_cast<std::uint32_t>(segments.size()));
    const auto& parts = layout.segments(word);
    segments.insert(segments.end(), parts.begin(), parts.end());
  }
  first.push_back(static_cast<std::uint32_t>(segments.size()));
  const std::size_t first_bytes = aligned(first.size() * sizeof first[0]);
  const std::size_t bytes = first_bytes + segments.size() * sizeof segments[0];
  if (bytes > kKeyTableBytes) throw Error(ErrorCode::no_space, "the key is too long for a GPU");
  stream.copy_in(table, reinterpret_cast<const std::byte*>(first.data()),
                 first.size() * sizeof first[0]);
  stream.copy_in(table + first_bytes, reinterpret_cast<const std::byte*>(segments.data()),
                 segments.size() * sizeof segments[0]);
  stream.finish();  // the other streams of the device do not wait for this one
  KeyView view;
  view.words = static_cast<std::uint32_t>(layout.words());
  view.first_segment = reinterpret_cast<const std::uint32_t*>(table);
  view.segments = reinterpret_cast<const KeyLayout::WordPart*>(table + first_bytes);
  return view;
}

}  // namespace xxl::gpu
