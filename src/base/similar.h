// Suggestions for misspelled words.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace xxl {

// The candidate that is closest to `word`, by the number of letters that were inserted, left out,
// replaced or swapped with their neighbor (Damerau-Levenshtein, without regard to case); empty if
// all differ in more than a third of the letters.
std::string_view most_similar(std::string_view word, std::span<const std::string_view> candidates);

// ": did you mean 'name'?", or nothing; `prefix` stands before the name.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates,
                         std::string_view prefix = {});

}  // namespace xxl
