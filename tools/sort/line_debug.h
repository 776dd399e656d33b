// sort --debug: warnings about keys, and lines with their keys underlined, as sort(1) prints them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/parse_options.h"
#include "record/byte_classes.h"
#include "record/line_order.h"
#include "sort/line_arguments.h"

namespace xxl::cli {

// Prints on standard error how lines are compared, and what is doubtful about the keys.
void warn_of_line_keys(const Caller& caller, const LineArguments& arguments);

class LineUnderliner {
 public:
  explicit LineUnderliner(const LineOrder& order);

  // Appends `line` and, for each key, a line with its place underlined.
  void append(std::string_view line, std::string& out) const;

 private:
  void append_mark(std::string_view line, std::string_view part, std::string& out) const;
  std::string_view compared_part(std::string_view line, const LineKeyField& key) const;

  LineOrder order_;
  std::vector<LineKeyField> keys_;
  ByteClasses classes_;
};

}  // namespace xxl::cli
