#include "join/general_joiner.h"

#include <utility>

#include "base/units.h"

namespace xxl {
namespace {

constexpr std::uint64_t kProgressBytes = kMiB;

}  // namespace

bool KeyedRecords::next() {
  if (any_) before_.take(key_, records_);
  if (!records_.advance()) return false;
  key_.set(keys_, records_.record());
  if (any_ && key_.compare(before_.key()) < 0) on_disorder_();
  any_ = true;
  return true;
}

bool GeneralJoiner::next(JoinSide side) {
  KeyedRecords& records = side == JoinSide::r ? r_ : s_;
  if (!records.next()) return false;
  emitter_.arrived(side, records.record());
  bytes_ += records.record().size() + 1;
  if (bytes_ >= kProgressBytes) (*on_progress_)(std::exchange(bytes_, 0));
  return true;
}

void GeneralJoiner::run(const std::function<void(std::uint64_t)>& on_progress) {
  on_progress_ = &on_progress;
  bool more_r = next(JoinSide::r);
  bool more_s = next(JoinSide::s);
  while (more_r && more_s) {
    const int order = r_.key().compare(s_.key());
    if (order < 0) {
      skip_alone(JoinSide::r, more_r);
    } else if (order > 0) {
      skip_alone(JoinSide::s, more_s);
    } else if (rules_.matches_nothing && rules_.matches_nothing(r_.record())) {
      key_.take(r_.key(), r_.cursor());
      while (more_r && is_in_group(r_)) skip_alone(JoinSide::r, more_r);
      while (more_s && is_in_group(s_)) skip_alone(JoinSide::s, more_s);
    } else {
      join_group(more_r, more_s);
    }
  }
  while (more_r) skip_alone(JoinSide::r, more_r);
  while (more_s) skip_alone(JoinSide::s, more_s);
  on_progress(bytes_);
}

void GeneralJoiner::skip_alone(JoinSide side, bool& more) {
  emitter_.alone(side, (side == JoinSide::r ? r_ : s_).record());
  more = next(side);
}

void GeneralJoiner::keep_first_r() {
  if (r_.record().size() > RecordKey::kKeptBytes) {
    first_r_is_held_ = r_.cursor().hold();
    first_r_ = r_.record();
  } else {
    first_r_copy_ = r_.record();
    first_r_ = first_r_copy_;
  }
}

void GeneralJoiner::join_group(bool& more_r, bool& more_s) {
  key_.take(r_.key(), r_.cursor());
  if (!emitter_.shape().pairs || !emitter_.writes()) return join_unpaired(more_r, more_s);
  keep_first_r();
  more_r = next(JoinSide::r);
  if (more_r && is_in_group(r_)) {
    join_many(more_r, more_s);
  } else {
    join_with_one(more_s);
  }
}

// The R is first_r_.
void GeneralJoiner::join_with_one(bool& more_s) {
  emitter_.begin_pairs(first_r_);
  std::uint64_t s = 0;
  do {
    emitter_.pair(s_.record());
    ++s;
    more_s = next(JoinSide::s);
  } while (more_s && is_in_group(s_));
  emitter_.group(1, s);
  first_r_is_held_.reset();
}

// The Rs are first_r_, the current one, and perhaps more.
void GeneralJoiner::join_many(bool& more_r, bool& more_s) {
  group_.clear();
  do {
    emitter_.keep_part(s_.record(), group_);
    more_s = next(JoinSide::s);
  } while (more_s && is_in_group(s_));
  const auto pair_all = [&](std::string_view r) {
    emitter_.begin_pairs(r);
    group_.for_each([&](std::string_view part) { emitter_.pair_of_part(part); });
  };
  pair_all(first_r_);
  first_r_is_held_.reset();
  std::uint64_t r = 1;
  do {
    pair_all(r_.record());
    ++r;
    more_r = next(JoinSide::r);
  } while (more_r && is_in_group(r_));
  emitter_.group(r, group_.records());
}

// No pairs are written: of S only the number counts.
void GeneralJoiner::join_unpaired(bool& more_r, bool& more_s) {
  std::uint64_t r = 0, s = 0;
  do {
    emitter_.matched_r(r_.record());
    ++r;
    more_r = next(JoinSide::r);
  } while (more_r && is_in_group(r_));
  do {
    ++s;
    more_s = next(JoinSide::s);
  } while (more_s && is_in_group(s_));
  emitter_.group(r, s);
}

}  // namespace xxl
