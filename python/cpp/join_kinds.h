// The kinds of joins, and the ways to join, by their words.
#pragma once

#include <string>

#include "errors.h"
#include "xxl/join_kind.h"

namespace xxl::python {

inline JoinKind join_kind_of(const std::string& how) {
  if (how == "inner") return JoinKind::inner;
  if (how == "left") return JoinKind::left;
  if (how == "right") return JoinKind::right;
  if (how == "full") return JoinKind::full;
  if (how == "semi") return JoinKind::semi;
  if (how == "anti") return JoinKind::anti;
  throw_usage("how is 'inner', 'left', 'right', 'full', 'semi' or 'anti', not '" + how + "'");
}

inline JoinMethod join_method_of(const std::string& method) {
  if (method == "auto") return JoinMethod::automatic;
  if (method == "hash") return JoinMethod::hash;
  if (method == "sort-merge") return JoinMethod::sort_merge;
  throw_usage("method is 'auto', 'hash' or 'sort-merge', not '" + method + "'");
}

}  // namespace xxl::python
