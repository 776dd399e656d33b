// The order of lines that the options of sort(1) ask for, as data, and their syntax.
//
// The options, their words and their error messages are those of GNU sort 9.1. What the order means
// is defined by key_span.h (where a key lies in a line) and line_keys.h (how keys compare).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/field_separator.h"

namespace xxl {

// The ordering options, each named by its letter in sort(1).
struct LineKeyFlags {
  bool skip_start_blanks = false;  // b, at the start of a key
  bool skip_end_blanks = false;    // b, before the characters of a key's end are counted
  bool dictionary = false;         // d: only blanks and alphanumeric characters count
  bool fold = false;               // f: lower case as upper case
  bool general_numeric = false;    // g: whatever strtold reads
  bool human_numeric = false;      // h: numbers with a unit, 2K 1G
  bool printing = false;           // i: only printing characters count; nothing beside d
  bool month = false;              // M: names of months
  bool numeric = false;            // n: decimal numbers of any length
  bool random = false;             // R: by a salted hash, equal keys together
  bool reverse = false;            // r
  bool version = false;            // V: names with version numbers

  bool operator==(const LineKeyFlags&) const = default;
  // True if only `reverse`, or nothing, is set.
  bool compares_plainly() const;
};

// One key, -k POS1[,POS2]: where it starts and ends in a line. Counts are from 0 and as large as
// size_t allows (larger ones are cut, as no line is that long).
struct LineKeyField {
  static constexpr std::size_t kLineEnd = std::numeric_limits<std::size_t>::max();

  std::size_t start_field = 0;       // fields before the key
  std::size_t start_char = 0;        // further bytes before the key
  std::size_t end_field = kLineEnd;  // fields before the one that the key ends in, or kLineEnd
  std::size_t end_char = 0;          // bytes of that field that belong to the key; 0: all
  LineKeyFlags flags;

  bool operator==(const LineKeyField&) const = default;
};

struct LineOrder {
  std::vector<LineKeyField> fields;  // in order of significance; none: the whole line
  LineKeyFlags flags;                // options given outside of -k
  std::optional<FieldSeparator>
      separator;        // -t; none: fields start where a blank follows a non-blank
  bool stable = false;  // -s: no last resort
  bool unique = false;  // -u: likewise
  std::array<std::uint8_t, 16> random_salt{};  // R: what --random-source supplied first
};

// The end of a key whose blanks option b skips.
enum class BlankSide { start, end, both };

// Sets the ordering option named by `letter`, one of "bdfghiMnRrV". False if it names none.
bool set_line_key_flag(char letter, BlankSide blanks, LineKeyFlags& flags);

// The argument of -k. Throws Error{usage}, message as of GNU sort without its "sort: ".
LineKeyField parse_line_key(std::string_view argument);

// The obsolescent +POS1 [-POS2]: `start` with its plus sign, `end` with its minus sign where an
// argument of a minus sign and a digit follows. Nothing if `start` is no such position: then it is
// a file's name (and `end` was not looked at). Throws Error{usage} if `end` is malformed.
std::optional<LineKeyField> parse_obsolescent_line_key(std::string_view start,
                                                       std::optional<std::string_view> end);

// The option letter that --sort=WORD stands for; WORD may be shortened. Throws Error{usage}: its
// message has several lines, the valid words. (GNU sort then exits with 1, not with 2.)
char line_sort_letter(std::string_view word);

// A separator as -t names it: one byte, \0, or one character of several bytes in a locale of UTF-8.
// Nothing if it is more than that, or empty.
std::optional<FieldSeparator> separator_named(std::string_view argument);

// The argument of -t: that, \t, or several bytes. Throws Error{usage}. That several -t agree
// ("incompatible tabs") is for the caller to check.
FieldSeparator parse_separator(std::string_view argument);
// The same, with sort(1)'s words for what is wrong.
FieldSeparator parse_line_separator(std::string_view argument);

// The keys that lines are compared by before the last resort, in order of significance, with their
// own options or, where they have none, the global ones; none where only the last resort decides.
// Throws Error{usage} for options that exclude each other ("options '-gn' are incompatible").
std::vector<LineKeyField> resolved_line_keys(const LineOrder& order);
// Whether the order needs a random_salt.
bool needs_random(const LineOrder& order);

// The options of a key as their letters, "bdfghiMnRrV" in that order.
std::string line_key_letters(const LineKeyFlags& flags);

// `text` as error messages quote it: between quotes of the locale (of LC_CTYPE), what does not
// print as escape sequences.
std::string quoted_for_message(std::string_view text);

}  // namespace xxl
