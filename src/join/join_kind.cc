#include "join/join_kind.h"

#include <string>

#include "base/error.h"

namespace xxl {

JoinKind parse_join_kind(std::string_view word) {
  if (word == "inner") return JoinKind::inner;
  if (word == "left") return JoinKind::left;
  if (word == "right") return JoinKind::right;
  if (word == "full" || word == "outer") return JoinKind::full;
  if (word == "semi") return JoinKind::semi;
  if (word == "anti") return JoinKind::anti;
  throw Error(ErrorCode::usage,
              "'" + std::string(word) +
                  "' is not a kind of join: use inner, left, right, full (or outer), semi or anti");
}

}  // namespace xxl
