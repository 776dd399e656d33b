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
// on elements without weights, it disagrees with strcoll; and sort(1) uses strcoll.
#pragma once

#include <locale.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xxl {

// How the bytes of a text are changed before it is collated; both tables have 256 entries.
struct ByteFilter {
  const bool* dropped;
  const unsigned char* mapped;  // those that are not dropped
};

// Immutable.
class CollationTables {
 public:
  class KeyReader;

  // Whether `locale` has none: then strcoll compares bytes.
  static bool are_missing(locale_t locale);

  // Of a locale that has tables. Throws Error{usage} if they are of an unknown form, or if their
  // keys are not in the order of strcoll, which is tested on some hundred strings.
  explicit CollationTables(locale_t locale);

  // Appends the key of `text`, which has no byte 0. Keys have no byte 0, and only the empty text
  // has an empty one.
  void append(std::string_view text, std::string& key) const;

 private:
  using Element = std::uint32_t;  // index of its weights
  // Where a byte leads: to an element, or to a table for the next byte.
  using Cell = std::uint32_t;
  // A weight's bytes, the first lowest, and their number in the highest byte: one load brings both,
  // one store writes it. Of a longer weight, its index in long_weights_.
  using Weight = std::uint64_t;
  struct Level {
    std::vector<Weight> weights;  // by element
    bool any_backward = false;    // some elements are compared backward
    bool positions = false;       // how many elements without weights precede it counts, too
    std::size_t most_bytes = 2;   // of a weight that is not long, and of a gap by element
  };
  class Reader;
  template <bool kPositions>
  class LevelWriter;

  void check_against_strcoll(locale_t locale, const std::vector<std::string>& samples) const;
  // Sets `found` to elements of `text` from `behind` on, and advances `behind`; returns how many.
  template <bool kFiltered>
  std::size_t find_elements(std::string_view text, const ByteFilter* filter, std::size_t& behind,
                            std::span<Element> found) const;
  // Appends the weights of all elements of a text.
  template <bool kPositions>
  void append_level(const Level& level, std::span<const Element> elements, std::string& key) const;

  std::vector<Level> levels_;
  std::vector<std::string> long_weights_;
  std::vector<Cell> cells_;              // tables of 256; the first: of first bytes
  std::vector<Element> table_elements_;  // by table: what the bytes that lead to it are themselves
};

// Makes the key of a text piece by piece. Each level needs the text from its beginning, and some
// need it backward; but a text may be nearly as large as the memory, and its elements take four
// times as much. So elements are known of one block of the text only, and where in the text each
// block begins, also amid characters that count as one:
//
//   text      c h l e b a | c h r a n o l        blocks of 5 elements in cs_CZ: ch is one
//   elements  0  1 2 3 4  | 5  6 7 8 9           begins_ = {6}
class CollationTables::KeyReader {
 public:
  static constexpr std::size_t kBlockElements = std::size_t{1} << 14;

  explicit KeyReader(std::size_t block_elements = kBlockElements) : most_(block_elements) {}

  // The key of `text`, filtered if `filter` is not null; it has no byte 0 then. All of these must
  // last until the key is read.
  void start(const CollationTables& tables, std::string_view text, const ByteFilter* filter);
  // Appends a piece of the key: about `wanted` bytes of the first level (as the first bytes of keys
  // are what most need), and of all levels less than comes of a block and kBlockElements bytes.
  // False if that was the last.
  bool read(std::size_t wanted, std::string& key);

 private:
  // Elements [i, i + count), less if their block or the text ends before.
  std::span<const Element> elements_from(std::size_t i, std::size_t count) {
    if (behind_ == text_.size() && i - first_ < known_) [[likely]]
      return known_elements(i - first_, count);
    return find_elements(i, count);
  }
  std::span<const Element> find_elements(std::size_t i, std::size_t count);
  // Elements [end - count, end), of which the last exists; less if their block begins after.
  std::span<const Element> elements_before(std::size_t end, std::size_t count) {
    if (end - 1 - first_ >= known_) find_elements(end - 1, 1);
    count = std::min(count, end - first_);
    return known_elements(end - count - first_, count);
  }
  // At most `count`, of those known of the block from `at` on.
  std::span<const Element> known_elements(std::size_t at, std::size_t count) const {
    at = std::min(at, known_);
    return {elements_.data() + at, std::min(count, known_ - at)};
  }
  // Appends what comes of at most a block of elements on one level. False if that was the last.
  bool read_some(std::size_t wanted, std::string& key);
  // The same of at most `count`. False if that was the last of the level.
  template <bool kPositions>
  bool append_part(const Level& level, std::size_t count, std::string& key);

  const CollationTables* tables_ = nullptr;
  std::string_view text_;
  const ByteFilter* filter_ = nullptr;

  std::size_t most_;                 // elements of a block
  std::vector<std::size_t> begins_;  // of blocks but the first, as far as they are known
  std::vector<Element> elements_;    // of one block: room for them, and
  std::size_t known_ = 0;            // as many as are known
  std::size_t first_ = 0;            // the number of the first of them
  std::size_t behind_ = 0;           // where in the text they end

  std::size_t level_ = 0;
  std::size_t next_ = 0;  // element of this level
  std::size_t gap_ = 0;   // elements without weights since the last with one
  // Elements in a row that are compared backward (append_backward).
  std::size_t searched_ = 0;
  std::size_t left_ = 0;     // elements [searched_, searched_ + left_) are still to come
  bool behind_row_ = false;  // next_ is the element after a row
};

}  // namespace xxl
