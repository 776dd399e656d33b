#include "record/letter_case.h"

#include <cstddef>

namespace xxl {
namespace {

constexpr unsigned lower_case(unsigned c) {
  const auto within = [c](unsigned first, unsigned last) { return c >= first && c <= last; };
  // Latin-1.
  if (within(0xc0, 0xde)) return c == 0xd7 ? c : c + 0x20;
  // Latin Extended-A: pairs, of which the upper case is even, or odd.
  if (within(0x100, 0x12f) || within(0x132, 0x137) || within(0x14a, 0x177)) return c | 1;
  if (within(0x139, 0x148) || within(0x179, 0x17e)) return c + (c & 1);
  if (c == 0x178) return 0xff;
  // Greek.
  if (c == 0x386) return 0x3ac;
  if (within(0x388, 0x38a)) return c + 37;
  if (c == 0x38c) return 0x3cc;
  if (c == 0x38e || c == 0x38f) return c + 63;
  if (within(0x391, 0x3ab) && c != 0x3a2) return c + 0x20;
  if (c == 0x3c2) return 0x3c3;  // a sigma at the end of a word
  // Cyrillic.
  if (within(0x400, 0x40f)) return c + 0x50;
  if (within(0x410, 0x42f)) return c + 0x20;
  if (within(0x460, 0x481) || within(0x48a, 0x4bf) || within(0x4d0, 0x52f)) return c | 1;
  return c;
}

}  // namespace

void append_lower_case(std::string_view text, std::string& out) {
  const std::size_t start = out.size();
  out += text;
  for (std::size_t i = start; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    if (byte < 0x80) {
      if (byte >= 'A' && byte <= 'Z') out[i] = static_cast<char>(byte | 0x20);
      continue;
    }
    if (!starts_pair(out[i]) || i + 1 == out.size()) continue;
    const auto next = static_cast<unsigned char>(out[i + 1]);
    if ((next & 0xc0) != 0x80) continue;
    const unsigned lower = lower_case((byte & 0x1fu) << 6 | (next & 0x3fu));
    out[i++] = static_cast<char>(0xc0 | lower >> 6);
    out[i] = static_cast<char>(0x80 | (lower & 0x3f));
  }
}

}  // namespace xxl
