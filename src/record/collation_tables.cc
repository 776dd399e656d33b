#include "record/collation_tables.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

namespace xxl {
namespace {

constexpr char kLevelEnd = 1;
constexpr int kLengthShift = 56;  // of the number of bytes in a weight
static_assert(std::endian::native == std::endian::little);
// Scratch that a thread keeps; what a larger record needs is given back.
constexpr std::size_t kMaxKeptBytes = std::size_t{1} << 16;

// Whether all bytes are below 128; vector instructions.
bool is_ascii(std::string_view text) {
  unsigned char all = 0;
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return all < 128;
}

std::string utf8_of(char16_t character) {
  if (character < 0x80) return {static_cast<char>(character)};
  return {static_cast<char>(0xc0 | character >> 6), static_cast<char>(0x80 | (character & 0x3f))};
}

// Characters of one and two bytes; false if there are others, or `text` is not UTF-8.
bool decode(std::string_view text, std::u16string& out) {
  out.resize(text.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      out[count++] = c;
      continue;
    }
    if (c < 0xc2 || c > 0xdf || ++i == text.size()) return false;
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return false;
    out[count++] = static_cast<char16_t>((c & 0x1f) << 6 | (next & 0x3f));
  }
  out.resize(count);
  return true;
}

int sign(int order) {
  return (order > 0) - (order < 0);
}

// Latin letters and signs, Greek, Cyrillic. The marks in between combine with what precedes them,
// and so does the middle dot with an l.
bool is_covered(char16_t c) {
  return c < 0x80 || (c >= 0xa0 && c != 0xb7 && c < 0x250) || c >= 0x370;
}

}  // namespace

void append_strxfrm(std::string_view text, locale_t locale, std::string& key) {
  thread_local std::string copy;  // strxfrm wants a terminator
  copy.assign(text);
  const std::size_t from = key.size();
  std::size_t room = 8 * text.size() + 16;
  while (true) {
    key.resize(from + room);
    const std::size_t length = strxfrm_l(key.data() + from, copy.c_str(), room, locale);
    key.resize(from + std::min(length, room));
    if (length < room) break;
    room = length + 1;
  }
  if (copy.capacity() > kMaxKeptBytes) copy = std::string();
}

std::unique_ptr<const CollationTables> CollationTables::make(locale_t locale, bool utf8) {
  std::unique_ptr<CollationTables> tables(new CollationTables);
  const std::size_t end = utf8 ? kCharacters : 0x80;
  for (std::size_t c = 1; c < end; ++c) {
    if (is_covered(static_cast<char16_t>(c))) {
      tables->add_character(static_cast<char16_t>(c), locale);
    }
  }
  tables->knows_ascii_ = std::all_of(tables->known_.begin() + 1, tables->known_.begin() + 0x80,
                                     [](bool known) { return known; });
  if (!tables->agrees_with_library(locale)) return nullptr;
  return tables;
}

void CollationTables::add_character(char16_t character, locale_t locale) {
  const std::string text = utf8_of(character);
  std::string all;
  append_strxfrm(text, locale, all);
  std::array<std::string_view, kLevels> weights;
  std::string_view rest = all;
  for (std::size_t i = 0; i < kLevels; ++i) {
    const std::size_t end = i + 1 < kLevels ? rest.find(kLevelEnd) : rest.size();
    if (end == std::string_view::npos || end > kMaxWeightBytes) return;
    weights[i] = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  // A character without weight on the last level changes what precedes the next weight.
  if (weights[kLevels - 1].empty()) return;
  // An accent that combines with what precedes it, or a place where there is no character yet.
  const bool has_letter_weight = !weights[0].empty();
  if (!has_letter_weight && (character > 0xff || !weights[kBackwardLevel].empty())) return;

  // Behind a digit, or before a sign, a character of the digits' script makes a row of two, and
  // the second weight of the first is passed over.
  const auto compare = [&](const std::string& a, const std::string& b) {
    return strcoll_l(a.c_str(), b.c_str(), locale);
  };
  const bool backward = has_letter_weight ? compare(text + "-B", text + "b") < 0
                                          : compare("0" + text + "B", "0b") < 0;
  // With equal weights it makes no difference that a row is compared from its end.
  const std::string_view second = weights[kBackwardLevel];
  std::string digit;
  append_strxfrm("0", locale, digit);
  const std::size_t digit_end = digit.find(kLevelEnd);
  if (backward && !second.empty() &&
      (digit_end == std::string::npos ||
       std::string_view(digit).substr(digit_end + 1, second.size() + 1) !=
           std::string(second) + kLevelEnd)) {
    return;
  }

  known_[character] = true;
  backward_[character] = backward;
  for (std::size_t i = 0; i < kLevels; ++i) {
    Weight weight = 0;
    std::memcpy(&weight, weights[i].data(), weights[i].size());
    levels_[i].weights[character] = weight | Weight{weights[i].size()} << kLengthShift;
    levels_[i].longest = std::max(levels_[i].longest, weights[i].size());
  }
}

template <typename Char>
char* CollationTables::put_weights(std::size_t level, std::basic_string_view<Char> text,
                                   char* out) const {
  const Weight* const weights = levels_[level].weights.data();
  const auto put = [weights](Char c, char* to) {
    const Weight weight = weights[static_cast<char16_t>(c)];
    std::memcpy(to, &weight, sizeof weight);
    return to + (weight >> kLengthShift);
  };
  if (level != kBackwardLevel || text.size() < 3) {
    for (const Char c : text) out = put(c, out);
    return out;
  }
  const bool* const backward = backward_.data();
  const auto at = [&](std::size_t i) { return backward[static_cast<char16_t>(text[i])]; };
  const std::size_t last = text.size() - 2;
  bool here = at(0), next = at(1);
  for (std::size_t i = 0; i < last; ++i) {
    const bool after = at(i + 2);
    char* const behind = put(text[i], out);
    out = here && next && !after ? out : behind;
    here = next;
    next = after;
  }
  return put(text[last + 1], put(text[last], out));
}

template <typename Char>
void CollationTables::append_levels(std::basic_string_view<Char> text, std::size_t limit,
                                    std::string& key) const {
  const std::size_t from = key.size();
  for (std::size_t l = 0; l < kLevels; ++l) {
    const std::size_t done = key.size() - from;
    if (done >= limit) return;
    if (l != 0) key.push_back(kLevelEnd);
    // Of the first level no more than is asked for: the first bytes of keys are what most need.
    std::basic_string_view<Char> rest = text;
    while (!rest.empty() && key.size() - from < limit) {
      const std::size_t count =
          l == 0 ? std::min(rest.size(), std::max<std::size_t>(limit - (key.size() - from), 8))
                 : rest.size();
      const std::size_t start = key.size();
      key.resize(start + levels_[l].longest * count + sizeof(Weight));
      const char* const end = put_weights(l, rest.substr(0, count), key.data() + start);
      key.resize(static_cast<std::size_t>(end - key.data()));
      rest.remove_prefix(count);
    }
    if (!rest.empty()) return;
  }
}

bool CollationTables::append(std::string_view text, std::size_t limit, std::string& key) const {
  if (text.empty()) return true;
  bool all_known = true;
  if (is_ascii(text)) {
    if (!knows_ascii_) {
      for (const char c : text) all_known &= known_[static_cast<unsigned char>(c)];
    }
    if (all_known) append_levels(text, limit, key);
    return all_known;
  }
  if (!known_[0xe9]) return false;
  thread_local std::u16string decoded;
  if (!decode(text, decoded)) return false;
  for (const char16_t c : decoded) all_known &= c < kCharacters && known_[c];
  if (all_known) append_levels(std::u16string_view(decoded), limit, key);
  if (decoded.capacity() > kMaxKeptBytes) decoded = std::u16string();
  return all_known;
}

bool CollationTables::agrees_with_library(locale_t locale) const {
  std::vector<std::string> all, without_letter_weight;
  for (std::size_t c = 1; c < kCharacters; ++c) {
    if (!known_[c]) continue;
    all.push_back(utf8_of(static_cast<char16_t>(c)));
    if (levels_[0].weights[c] == 0) without_letter_weight.push_back(all.back());
  }
  if (all.empty()) return false;

  const auto key_of = [&](const std::string& text) {
    std::string key;
    append(text, ~std::size_t{0}, key);
    return key;
  };
  std::mt19937 random(1);
  const auto any_of = [&](const std::vector<std::string>& texts) -> const std::string& {
    return texts[random() % texts.size()];
  };
  // Half of the characters ASCII, and of these half letters and digits.
  const auto any_character = [&]() -> std::string {
    switch (random() % 4) {
      case 0:
        return any_of(all);
      case 1: {
        const auto c = static_cast<char16_t>(1 + random() % 127);
        return known_[c] ? utf8_of(c) : any_of(all);
      }
      default: {
        const auto c = static_cast<char16_t>("0123 -.,abcABCghlnszy"[random() % 21]);
        return known_[c] ? utf8_of(c) : any_of(all);
      }
    }
  };

  // Keys are what strxfrm makes, but for the weights that strcoll passes over.
  const auto passes_over = [&](const std::u16string& text) {
    for (std::size_t i = 2; i < text.size(); ++i) {
      if (backward_[text[i - 2]] && backward_[text[i - 1]] && !backward_[text[i]]) return true;
    }
    return false;
  };
  for (int trial = 0; trial < 2000; ++trial) {
    std::string text;
    for (std::size_t i = random() % (trial % 16 == 0 ? 200 : 8); i != 0; --i) {
      text += any_character();
    }
    std::u16string characters;
    decode(text, characters);
    if (passes_over(characters)) continue;
    std::string expected;
    append_strxfrm(text, locale, expected);
    if (key_of(text) != expected) return false;
  }
  // All pairs of ASCII characters: no two of them form a character of their own.
  for (char16_t a = 1; a < 0x80; ++a) {
    for (char16_t b = 1; b < 0x80; ++b) {
      if (!known_[a] || !known_[b]) continue;
      std::string expected;
      append_strxfrm(utf8_of(a) + utf8_of(b), locale, expected);
      if (key_of(utf8_of(a) + utf8_of(b)) != expected) return false;
    }
  }
  // Strings that differ beyond the first level only, as there the order is most involved.
  const auto swap_case = [](char c) {
    const bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    return static_cast<char>(letter && (c & 0x80) == 0 ? c ^ 0x20 : c);
  };
  for (int trial = 0; trial < 2000; ++trial) {
    std::array<std::string, 2> texts;
    for (std::size_t i = random() % 10; i != 0; --i) {
      const std::string character = any_character();
      for (std::string& text : texts) {
        if (!without_letter_weight.empty() && random() % 3 == 0) {
          text += any_of(without_letter_weight);
        }
        text += random() % 4            ? character
                : character.size() == 1 ? std::string(1, swap_case(character[0]))
                                        : character;
      }
    }
    if (sign(key_of(texts[0]).compare(key_of(texts[1]))) !=
        sign(strcoll_l(texts[0].c_str(), texts[1].c_str(), locale))) {
      return false;
    }
  }
  return true;
}

}  // namespace xxl
