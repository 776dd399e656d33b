#include "record/month_key.h"

#include <langinfo.h>

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace xxl {
namespace {

unsigned char upper(char c, const ByteClasses& classes) {
  return classes.upper[static_cast<unsigned char>(c)];
}

// Order of the start of `text` and `name`: 0 if the text starts with the name.
int compare_start(std::string_view text, std::string_view name, const ByteClasses& classes) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    const int a = i < text.size() ? upper(text[i], classes) : 0;
    const int b = static_cast<unsigned char>(name[i]);
    if (a != b) return a - b;
  }
  return 0;
}

}  // namespace

MonthNames::MonthNames(const ByteClasses& classes) {
  for (int i = 0; i < 12; ++i) {
    Month month{{}, i + 1};
    for (const char* c = nl_langinfo(ABMON_1 + i); *c != '\0'; ++c) {
      if (std::isblank(static_cast<unsigned char>(*c))) continue;
      month.name += static_cast<char>(upper(*c, classes));
    }
    months_.push_back(month);
  }
  std::sort(months_.begin(), months_.end(),
            [](const Month& a, const Month& b) { return a.name < b.name; });
}

int MonthNames::month_of(std::string_view text, const ByteClasses& classes) const {
  while (!text.empty() && contains(classes.blank, text.front())) text.remove_prefix(1);
  // Bisection as in sort(1): where one name starts with another, it decides which is found.
  std::size_t low = 0, high = months_.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const int order = compare_start(text, months_[middle].name, classes);
    if (order == 0) return months_[middle].number;
    if (order < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return 0;
}

}  // namespace xxl
