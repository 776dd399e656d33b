// Text in the order of a locale (LC_COLLATE), as parts of a key: what strxfrm makes of it, made
// from tables where they will do (collation_tables.h).
#pragma once

#include <locale.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "record/collation_tables.h"

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
  bool has_tables() const { return tables_ != nullptr; }

  // Appends what strxfrm makes of `text`, which has no byte 0 (but see collation_tables.h on where
  // strcoll is another opinion); at least its first `limit` bytes.
  void append_transformed(std::string_view text, std::size_t limit, std::string& key) const;

  // The key of `text`, which may have bytes 0: what strxfrm makes of each stretch between them, in
  // order. Between two of them stands a byte 0; if `delimited`, that is followed by a byte 1, and
  // the last is followed by bytes 0 0.
  void append_key(std::string_view text, bool delimited, std::size_t limit, std::string& key) const;

 private:
  locale_t locale_;
  bool named_ = false;
  bool compares_bytes_ = false;
  std::unique_ptr<const CollationTables> tables_;  // null: none
};

}  // namespace xxl
