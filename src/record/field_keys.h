// Keys of lines for joining: one or more whole fields, as join(1) compares them.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "record/key_extractor.h"
#include "record/line_fields.h"

namespace xxl {

struct FieldKeySpec {
  LineFieldSyntax syntax;
  std::vector<std::size_t> fields;  // from 0, in order of significance; at least one
  bool ignore_case = false;         // single bytes, lower case as upper case (-i)
};

// Fields compare as in join(1): by the collation of the locale that the process has now, or, in
// locales without rules and with ignore_case, byte by byte. A field that is missing is empty, and
// an empty one comes before all others.
std::shared_ptr<const KeyExtractor> make_field_keys(const FieldKeySpec& spec);

// Compares single fields as these keys do, without making keys: below, equal to or above 0.
class FieldComparison {
 public:
  explicit FieldComparison(bool ignore_case);
  int compare(std::string_view a, std::string_view b) const;

 private:
  bool collates_ = false;
  bool ignore_case_;
  ByteClasses classes_;
};

}  // namespace xxl
