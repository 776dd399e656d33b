#include "record/guess_member.h"

#include <algorithm>
#include <cstdint>

#include "record/key_layout.h"

namespace xxl {
namespace {

constexpr std::size_t kMaxGuessedOffset = 64;  // of a member, at most

// Members of 8 and 4 bytes where the compiler may have put some.
std::vector<KeyField> possible_members(std::size_t record_bytes) {
  std::vector<KeyField> members;
  for (std::size_t offset = 0; offset + 4 <= std::min(record_bytes, kMaxGuessedOffset);
       offset += 4) {
    for (const KeyType type :
         {KeyType::u64, KeyType::i64, KeyType::f64, KeyType::u32, KeyType::i32, KeyType::f32}) {
      const std::size_t bytes =
          type == KeyType::u64 || type == KeyType::i64 || type == KeyType::f64 ? 8 : 4;
      if (offset % bytes != 0 || offset + bytes > record_bytes) continue;
      for (const bool descending : {false, true}) {
        members.push_back(
            {.offset = offset, .length = bytes, .type = type, .descending = descending});
      }
    }
  }
  return members;
}

}  // namespace

std::optional<RecordFormat> guess_member(const detail::RecordOrder& order, std::size_t record_bytes,
                                         const std::vector<const std::byte*>& sample) {
  constexpr std::size_t kPairs = 4096;
  const std::size_t pairs = std::min(kPairs, sample.size() / 2);
  for (const KeyField& member : possible_members(record_bytes)) {
    RecordFormat format{.name = "guessed", .record_bytes = record_bytes, .key = {member}};
    const KeyLayout layout(format);
    std::size_t told_apart = 0;
    bool agrees = true;
    for (std::size_t i = 0; i < pairs && agrees; ++i) {
      const std::byte* const a = sample[2 * i];
      const std::byte* const b = sample[2 * i + 1];
      const std::uint64_t x = layout.word(a, 0), y = layout.word(b, 0);
      if (x == y) continue;
      agrees = x < y ? order.compare(a, b) < 0 : order.compare(a, b) > 0;
      ++told_apart;
    }
    if (!agrees || told_apart < std::max<std::size_t>(pairs / 2, 8)) continue;
    return format;
  }
  return std::nullopt;
}

}  // namespace xxl
