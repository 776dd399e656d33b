#include "base/similar.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

namespace xxl {
namespace {

constexpr std::size_t kMostLetters = 64;  // words longer than this are not compared

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// The optimal string alignment distance: three rows of the table are kept.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view most_similar(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view found;
  std::size_t least = word.size() / 3 + 1;
  for (const std::string_view candidate : candidates) {
    if (std::max(word.size(), candidate.size()) > kMostLetters) continue;
    const std::size_t changes = distance(word, candidate);
    if (changes >= least) continue;
    least = changes;
    found = candidate;
  }
  return found;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates,
                         std::string_view prefix) {
  const std::string_view found = most_similar(word, candidates);
  if (found.empty()) return {};
  return ": did you mean '" + std::string(prefix) + std::string(found) + "'?";
}

}  // namespace xxl
