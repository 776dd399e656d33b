// The kinds of joins, by their words.
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

}  // namespace xxl::python
