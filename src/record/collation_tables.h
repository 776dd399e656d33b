// Collation keys of common characters, made from tables instead of by strxfrm.
//
// strxfrm turns a string into one whose bytes are in the locale's order: the weights of its
// characters on the first level (letters), a byte 1, those on the second (accents), the third
// (case) and the fourth (all else; a byte 1 precedes each). It takes microseconds for a line. In
// most locales the weights of a character do not depend on its neighbours:
//
//                         level 1    level 2    level 3    level 4
//   "aB"  en_US.UTF-8     51 5e  01  02 02  01  02 07  01  01 e2 94 92  01 e2 ac 8e
//
// Lines are to be in the order of strcoll, and on one point strcoll of glibc differs from strxfrm.
// Digits and punctuation are of a script whose second level is compared backward; where several of
// them in a row are followed by a character of another script, strcoll passes over the second
// weight of the last but one: "0-B" comes before "0b", as it seems to have one weight less. Tables
// do the same.
//
// That all this is so is not assumed but tried when tables are made, on thousands of strings.
#pragma once

#include <locale.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace xxl {

// What strxfrm makes of `text`, which has no byte 0, in `locale`.
void append_strxfrm(std::string_view text, locale_t locale, std::string& key);

// Immutable.
class CollationTables {
 public:
  // Tables of ASCII characters and, if text is UTF-8, of Latin, Greek and Cyrillic letters. Null if
  // the locale turns out not to work as described above.
  static std::unique_ptr<const CollationTables> make(locale_t locale, bool utf8);

  // Appends the key of `text`, or at least its first `limit` bytes. False, and nothing is appended,
  // if it has characters that are not in the tables.
  bool append(std::string_view text, std::size_t limit, std::string& key) const;

 private:
  static constexpr std::size_t kLevels = 4;
  static constexpr std::size_t kBackwardLevel = 1;  // the second
  static constexpr std::size_t kCharacters = 0x530;
  static constexpr std::size_t kMaxWeightBytes = 7;
  // A weight's bytes, the first lowest, and their number in the highest byte: one load brings both,
  // one store writes it.
  using Weight = std::uint64_t;
  struct Level {
    std::array<Weight, kCharacters> weights{};  // by character
    std::size_t longest = 0;                    // bytes
  };

  CollationTables() : levels_(kLevels) {}
  void add_character(char16_t character, locale_t locale);
  // Numbers of trials are few enough not to be felt when little is sorted.
  bool agrees_with_library(locale_t locale) const;
  // Writes the weights of `text` to `out`, and up to 8 bytes behind their end, which is returned.
  template <typename Char>
  char* put_weights(std::size_t level, std::basic_string_view<Char> text, char* out) const;
  template <typename Char>
  void append_levels(std::basic_string_view<Char> text, std::size_t limit, std::string& key) const;

  std::vector<Level> levels_;
  std::array<bool, kCharacters> known_{};
  bool knows_ascii_ = false;  // all of it
  std::array<bool, kCharacters> backward_{};
};

}  // namespace xxl
