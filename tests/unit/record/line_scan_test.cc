#include "record/line_scan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"

namespace xxl {
namespace {

std::vector<std::string> lines_of(std::string_view text, char terminator) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(terminator), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

TEST(LineScan, finds_all_lines_of_any_text) {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random.below(200), 'x');
    const unsigned rare = 1 + random.below(60);
    for (char& c : text) c = random.below(rare) == 0 ? '\n' : static_cast<char>(random.below(256));
    std::vector<std::string> lines;
    const std::size_t bytes = visit_lines(text, '\n', [&](std::string_view line) {
      lines.emplace_back(line);
      return true;
    });
    ASSERT_EQ(lines, lines_of(text, '\n'));
    ASSERT_EQ(bytes, text.size());
  }
}

TEST(LineScan, a_refused_line_is_where_the_next_visit_starts) {
  Random random(4);
  for (int round = 0; round < 500; ++round) {
    std::string text(random.below(300), 'x');
    for (char& c : text) c = random.below(9) == 0 ? '\0' : 'y';
    std::vector<std::string> lines;
    std::string_view rest = text;
    while (!rest.empty()) {
      std::size_t left = random.below(5);
      rest.remove_prefix(visit_lines(rest, '\0', [&](std::string_view line) {
        if (left == 0) return false;
        --left;
        lines.emplace_back(line);
        return true;
      }));
    }
    ASSERT_EQ(lines, lines_of(text, '\0'));
  }
}

}  // namespace
}  // namespace xxl
