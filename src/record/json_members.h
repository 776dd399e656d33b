// Members of objects of JSON, one object on each line, read by simdjson.
//
//   {"user":{"id":7},"tags":["a","b"]}     user.id is 7, tags.1 is b, user is {"id":7}
//
// A member is found by the names on the way to it; in an array, a name is the number of an element,
// from 0. Of members with the same name, the first one that leads on counts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/csv_rows.h"

namespace xxl {

class JsonMembers {
 public:
  using Path = std::vector<std::string>;

  // A longer text is malformed. simdjson takes up to 8 bytes of memory for each of its bytes.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 31;

  explicit JsonMembers(const std::vector<Path>& paths, std::size_t most_bytes = kMostBytes);

  // Sets fields[i] to the member of path i, which lasts until the next call on this thread: a
  // string without its quotes and escapes (quoted), nothing for null and for a member that is
  // missing, all else as it stands in the text. Of a text that is malformed, what is found before
  // the fault.
  void find(std::string_view text, FieldSpan* fields) const { read(text, fields, false); }
  // The same, and says what is malformed in the text, or that it is no object.
  std::optional<std::string> check(std::string_view text, FieldSpan* fields) const {
    return read(text, fields, true);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  // The end of a path, or a part of the way to one.
  struct Step {
    std::string name = {};
    std::vector<std::size_t> members = {};  // whose paths end here
    std::vector<Step> next = {};

    const Step* find(std::string_view key) const;
  };
  class Reading;

  std::optional<std::string> read(std::string_view text, FieldSpan* fields, bool checks) const;

  std::size_t count_;
  std::size_t most_bytes_;
  Step root_;
};

// Appends a string of JSON with its quotes.
void append_json_string(std::string_view value, std::string& out);

}  // namespace xxl
