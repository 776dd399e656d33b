// Text in the order of a locale (LC_COLLATE), as parts of a key (collation_tables.h).
#pragma once

#include <locale.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "record/collation_tables.h"

namespace xxl {

// What strxfrm makes of `text`, which has no byte 0, in `locale`: for hashes of equal text, not for
// its order.
void append_strxfrm(std::string_view text, locale_t locale, std::string& key);

// Immutable but for its making; keeps the locale of the process as it is then.
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

  // Appends the key of `text`, which may have bytes 0: that of each stretch between them, in order
  // (not for locales that compare bytes); at least its first `limit` bytes. Between two stretches
  // stands a byte 0; if `delimited`, that is followed by a byte 1, and the last by bytes 0 0.
  void append_key(std::string_view text, bool delimited, std::size_t limit, std::string& key) const;

 private:
  locale_t locale_;
  bool named_ = false;
  std::unique_ptr<const CollationTables> tables_;  // null: the locale compares bytes
};

}  // namespace xxl
