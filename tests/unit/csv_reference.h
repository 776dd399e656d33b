// A reader of rows that is slow and plain: one byte after the other, as RFC 4180 says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace xxl::reference {

struct Row {
  bool valid = true;
  std::vector<std::string> fields;  // values; those before the fault if not valid
};

// One row, without its terminator.
inline Row read_row(std::string_view row, char separator) {
  if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
  Row result;
  std::size_t i = 0;
  while (true) {
    std::string field;
    if (i < row.size() && row[i] == '"') {
      ++i;
      while (true) {
        if (i == row.size()) return result.valid = false, result;
        if (row[i] != '"') {
          field.push_back(row[i++]);
        } else if (i + 1 < row.size() && row[i + 1] == '"') {
          field.push_back('"');
          i += 2;
        } else {
          ++i;
          break;
        }
      }
      if (i < row.size() && row[i] != separator) return result.valid = false, result;
    } else {
      while (i < row.size() && row[i] != separator) {
        if (row[i] == '"') return result.valid = false, result;
        field.push_back(row[i++]);
      }
    }
    result.fields.push_back(field);
    if (i == row.size()) return result;
    ++i;
  }
}

// Ends of rows by counting quotes: offsets of the terminators.
inline std::vector<std::size_t> row_ends(std::string_view text, bool inside, char terminator) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') inside = !inside;
    if (text[i] == terminator && !inside) ends.push_back(i);
  }
  return ends;
}

struct Piece {
  std::string_view row;
  bool valid;
};

// Rows of a text some of which are malformed: fields are read from the left; a quoted field that is
// not closed properly makes the row end with the line of its opening quote, a stray quote with its
// own line. A quote that is `most_open` bytes behind the first terminator in the field, or more,
// does not close it.
inline std::vector<Piece> split_rows(std::string_view text, char separator, char terminator,
                                     std::size_t most_open = ~std::size_t{0}) {
  std::vector<Piece> pieces;
  while (!text.empty()) {
    // Fields from the left, each with its closing quote, as far as they are valid.
    std::size_t i = 0;
    std::size_t end = std::string_view::npos;  // of the row
    bool valid = false;
    while (true) {
      const std::size_t start = i;
      if (i < text.size() && text[i] == '"') {
        ++i;
        bool closed = false;
        const std::size_t line_end = std::min(text.find(terminator, i), text.size());
        while (i < text.size() && (i < line_end || i - line_end < most_open)) {
          if (text[i] != '"') {
            ++i;
          } else if (i + 1 < text.size() && text[i + 1] == '"') {
            i += 2;
          } else {
            closed = true;
            ++i;
            break;
          }
        }
        std::size_t after = i;
        if (closed && after < text.size() && text[after] == separator) {
          ++i;
          continue;
        }
        if (closed && after < text.size() && text[after] == '\r') ++after;
        if (closed && (after == text.size() || text[after] == terminator)) {
          end = after;
          valid = true;
          break;
        }
        end = text.find(terminator, start);
        break;
      }
      while (i < text.size() && text[i] != separator && text[i] != terminator && text[i] != '"')
        ++i;
      if (i < text.size() && text[i] == separator) {
        ++i;
        continue;
      }
      valid = i == text.size() || text[i] == terminator;
      end = text.find(terminator, i);
      break;
    }
    if (end > text.size()) end = text.size();
    pieces.push_back({text.substr(0, end), valid});
    text.remove_prefix(end == text.size() ? end : end + 1);
  }
  return pieces;
}

}  // namespace xxl::reference
