<<<<<<< HEAD
// Text in the order of a locale (LC_COLLATE), as parts of a key: what strxfrm makes of it, made
// from tables where they will do (collation_tables.h).
=======
// Text in the order of a locale (LC_COLLATE), as parts of a key.
//
// strxfrm turns a string into one whose bytes are in the locale's order: the weights of its
// characters on the first level (letters), a byte 1, those on the second (accents), and so on. It
// takes microseconds for a line. In most locales the weights of ASCII characters do not depend on
// their neighbours, and a string of ASCII characters can be transformed through tables:
//
//                         level 1    level 2    level 3    level 4
//   "aB"  en_US.UTF-8     51 5e  01  02 02  01  02 07  01  01 e2 94 92  01 e2 ac 8e
//
// That it is so is not assumed but tried, when a Collation is made, against strxfrm: on all pairs
// of ASCII characters and on random strings. Where one differs, tables are not used. What they make
// is what strxfrm makes, so that they and it mix.
>>>>>>> h2
#pragma once

#include <locale.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xxl {

// Immutable but for its making; keeps the locale of the process as it is then.
class Collation {
 public:
  Collation();
  ~Collation();
  Collation(const Collation&) = delete;
  Collation& operator=(const Collation&) = delete;

  locale_t locale() const { return locale_; }
  // False in locales C and POSIX. (sort(1) hashes differently in others, even if they compare
  // bytes.)
  bool is_named() const { return named_; }
  // True if text compares byte by byte: in C, POSIX, and C.UTF-8.
  bool compares_bytes() const { return compares_bytes_; }
  bool has_tables() const { return !levels_.empty(); }

  // Appends what strxfrm makes of `text`, which has no byte 0; at least its first `limit` bytes.
  void append_transformed(std::string_view text, std::size_t limit, std::string& key) const;

  // The key of `text`, which may have bytes 0: what strxfrm makes of each stretch between them, in
  // order. Between two of them stands a byte 0; if `delimited`, that is followed by a byte 1, and
  // the last is followed by bytes 0 0.
  void append_key(std::string_view text, bool delimited, std::size_t limit, std::string& key) const;

 private:
  static constexpr std::size_t kMaxWeightBytes = 7;
  struct Weight {
    std::uint8_t length = 0;
    std::array<char, kMaxWeightBytes> bytes{};
  };
  static_assert(sizeof(Weight) == 8);  // one load and one store move it
  // The weights of all ASCII characters on one level.
  struct Level {
    std::array<Weight, 128> weights{};
    std::size_t longest = 0;
  };

  std::string transformed(std::string_view text) const;
  void append_by_library(std::string_view text, std::string& key) const;
  void append_by_tables(std::string_view text, std::size_t limit, std::string& key) const;
  bool make_tables();
  bool tables_agree() const;

  locale_t locale_;
  bool named_ = false;
  bool compares_bytes_ = false;
  std::vector<Level> levels_;  // none: no tables
};

}  // namespace xxl
