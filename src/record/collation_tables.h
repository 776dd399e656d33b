// Collation keys made from the tables that strcoll of glibc reads: items _NL_COLLATE_* of
// nl_langinfo, of one form since glibc 2.3 (locale/weight.h and string/strcoll_l.c there).
//
// A table of byte sequences gives each character, or characters that count as one, its weights: a
// string of bytes, perhaps an empty one, for each level (letters, accents, case, all else). Strings
// compare level by level, each time by the weights of all their elements; a byte 1 ends a level, as
// bytes of weights are larger:
//
//                   level 1       level 2       level 3       level 4
//   "aB"  en_US     51 5e    01   02 02    01   02 07    01   e2 94 92 e2 ac 8e
//
// strxfrm makes keys of this kind, too, but on elements of scripts that are compared backward, and
// on elements without weights, it disagrees with strcoll; and it is strcoll that sort(1) asks.
#pragma once

#include <locale.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xxl {

// Immutable.
class CollationTables {
 public:
  // Whether `locale` has none: then strcoll compares bytes.
  static bool are_missing(locale_t locale);

  // Of a locale that has tables. Throws Error{usage} if they are of an unknown form, or if their
  // keys are not in the order of strcoll, which is tried on some hundred strings.
  explicit CollationTables(locale_t locale);

  // Appends the key of `text`, which has no byte 0, or at least its first `limit` bytes. Keys have
  // no byte 0, and only the empty text has an empty one.
  void append(std::string_view text, std::size_t limit, std::string& key) const;

 private:
  using Element = std::uint32_t;  // index of its weights
  // What a byte leads to: an element, or a table of what the next byte leads to.
  using Cell = std::uint32_t;
  // A weight's bytes, the first lowest, and their number in the highest byte: one load brings both,
  // one store writes it. Of a longer weight, its index in long_weights_.
  using Weight = std::uint64_t;
  struct Level {
    std::vector<Weight> weights;  // by element
    bool any_backward = false;    // some elements are compared backward
    bool positions = false;       // how many elements without weights precede it counts, too
  };
  class Reader;
  template <bool kPositions>
  class LevelWriter;

  void check_against_strcoll(locale_t locale, const std::vector<std::string>& samples) const;
  // Appends to `found` the elements of `text` from `at` on, at most `count`. `at` is then behind.
  void find_elements(std::string_view text, std::size_t& at, std::size_t count,
                     std::vector<Element>& found) const;
  template <bool kPositions>
  void append_level(const Level& level, std::span<const Element> elements, std::string& key) const;

  std::vector<Level> levels_;
  std::vector<std::string> long_weights_;
  std::vector<Cell> cells_;              // tables of 256; the first: of first bytes
  std::vector<Element> table_elements_;  // by table: what the bytes that lead to it are themselves
};

}  // namespace xxl
