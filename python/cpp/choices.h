// Arguments that are one of a few words.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "errors.h"
#include "xxl/join_kind.h"

namespace xxl::python {

// The choice named `word`. Throws Error{usage}: "`what` is 'auto', 'gpu' or 'cpu', not 'tpu'".
template <class T>
T choice_of(const std::string& what, const std::string& word,
            std::initializer_list<std::pair<const char*, T>> choices) {
  std::string words;
  for (const auto& [each, value] : choices) {
    if (word == each) return value;
    const bool is_last = each == (choices.end() - 1)->first;
    words += (words.empty() ? " is '" : is_last ? " or '" : ", '") + std::string(each) + "'";
  }
  throw_usage(what + words + ", not '" + word + "'");
}

inline JoinKind join_kind_of(const std::string& how) {
  return choice_of<JoinKind>("how", how,
                             {{"inner", JoinKind::inner},
                              {"left", JoinKind::left},
                              {"right", JoinKind::right},
                              {"full", JoinKind::full},
                              {"outer", JoinKind::full},
                              {"semi", JoinKind::semi},
                              {"anti", JoinKind::anti}});
}

}  // namespace xxl::python
