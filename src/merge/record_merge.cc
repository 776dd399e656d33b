#include "merge/record_merge.h"

#include <utility>

#include "sort/string_sort.h"

namespace xxl {

RecordMerge::RecordMerge(std::vector<std::unique_ptr<RecordCursor>> cursors,
                         const KeyExtractor& keys, bool marks_same, OnDisorder on_disorder)
    : keys_(keys),
      marks_same_(marks_same),
      on_disorder_(std::move(on_disorder)),
      losers_(cursors.size()) {
  for (auto& cursor : cursors) {
    Contender& contender = contenders_.emplace_back();
    contender.cursor = std::move(cursor);
  }
}

void RecordMerge::load(Contender& contender) {
  contender.ended = !contender.cursor->advance();
  if (contender.ended) return;
  contender.key.set(keys_, contender.cursor->record());
  contender.word = key_word(contender.key.beginning(), 0);
}

// True if the record of `a` is to come before that of `b`.
bool RecordMerge::before(std::size_t a, std::size_t b) {
  const Contender& x = contenders_[a];
  const Contender& y = contenders_[b];
  if (x.ended || y.ended) return !x.ended || (y.ended && a < b);
  if (x.word != y.word) return x.word < y.word;
  const int order = x.key.compare(y.key);
  return order != 0 ? order < 0 : a < b;
}

// The winner of the matches under `node`.
std::size_t RecordMerge::play(std::size_t node) {
  const std::size_t n = contenders_.size();
  if (node >= n) return node - n;
  std::size_t winner = play(2 * node), loser = play(2 * node + 1);
  if (before(loser, winner)) std::swap(winner, loser);
  losers_[node] = loser;
  return winner;
}

bool RecordMerge::next() {
  if (contenders_.empty()) return false;
  if (!started_) {
    started_ = true;
    for (Contender& contender : contenders_) load(contender);
    winner_ = play(1);
  } else {
    Contender& contender = contenders_[winner_];
    if (marks_same_ || on_disorder_) before_.take(contender.key, *contender.cursor);
    load(contender);
    if (on_disorder_ && !contender.ended && before_.key().compare(contender.key) > 0) {
      on_disorder_(*contender.cursor);
    }
    for (std::size_t node = (winner_ + contenders_.size()) / 2; node >= 1; node /= 2) {
      if (before(losers_[node], winner_)) std::swap(winner_, losers_[node]);
    }
    same_ = marks_same_ && !contenders_[winner_].ended &&
            before_.key().compare(contenders_[winner_].key) == 0;
  }
  return !contenders_[winner_].ended;
}

}  // namespace xxl
