// Text in the order of a locale (LC_COLLATE), as parts of a key (collation_tables.h).
#pragma once

#include <locale.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "record/collation_tables.h"
#include "record/key_stretch.h"

namespace xxl {

// The result of strxfrm for `text`, which has no byte 0, in `locale`: for hashes of equal text, not
// for its order.
void append_strxfrm(std::string_view text, locale_t locale, std::string& key);

// Immutable; keeps the locale that the process has when it is made.
class Collation {
 public:
  // Throws Error{usage} for a locale whose order is not understood.
  Collation();
  ~Collation();
  Collation(const Collation&) = delete;
  Collation& operator=(const Collation&) = delete;

  locale_t locale() const { return locale_; }
  // False in locales C and POSIX. (sort(1) hashes differently in others, even if they compare
  // bytes.)
  bool is_named() const { return named_; }
  // True if text compares byte by byte: in C, POSIX, and C.UTF-8.
  bool compares_bytes() const { return tables_ == nullptr; }

  // Appends the key that a CollationKeyReader makes, up to the limit.
  void append_key(std::string_view text, const ByteFilter* filter, bool delimited,
                  KeyStretch& stretch) const;

 private:
  friend class CollationKeyReader;

  locale_t locale_;
  bool named_ = false;
  std::unique_ptr<const CollationTables> tables_;  // null: the locale compares bytes
};

// Makes a key piece by piece: never more of a long text is in memory.
class CollationKeyReader {
 public:
  // The key of `text`, filtered if `filter` is not null. The text may have bytes 0: its key is that
  // of each stretch between them, in order (not for locales that compare bytes). Between two
  // stretches stands a byte 0; if `delimited`, that is followed by a byte 1, and the last by bytes
  // 0 0. All but `delimited` must last until the key is read.
  void start(const Collation& collation, std::string_view text, const ByteFilter* filter,
             bool delimited);
  // Appends a piece of the key, as CollationTables::KeyReader does. False if that was the last.
  bool read(std::size_t wanted, std::string& key);

 private:
  void start_stretch();

  const CollationTables* tables_ = nullptr;
  std::string_view text_;  // from this stretch on
  std::size_t end_ = 0;    // of the stretch
  const ByteFilter* filter_ = nullptr;
  bool delimited_ = false;
  CollationTables::KeyReader reader_;  // of the stretch
};

}  // namespace xxl
