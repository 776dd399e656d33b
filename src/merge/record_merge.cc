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
    Source& source = sources_.emplace_back();
    source.cursor = std::move(cursor);
  }
}

void RecordMerge::load(Source& source) {
  source.ended = !source.cursor->advance();
  if (source.ended) return;
  source.key.set(keys_, source.cursor->record());
  source.word = key_word(source.key.beginning(), 0);
}

// True if the record of `a` is to come before that of `b`.
bool RecordMerge::before(std::size_t a, std::size_t b) {
  const Source& x = sources_[a];
  const Source& y = sources_[b];
  if (x.ended || y.ended) return !x.ended || (y.ended && a < b);
  if (x.word != y.word) return x.word < y.word;
  const int order = x.key.compare(y.key);
  return order != 0 ? order < 0 : a < b;
}

// The winner of the matches under `node`.
std::size_t RecordMerge::play(std::size_t node) {
  const std::size_t n = sources_.size();
  if (node >= n) return node - n;
  std::size_t winner = play(2 * node), loser = play(2 * node + 1);
  if (before(loser, winner)) std::swap(winner, loser);
  losers_[node] = loser;
  return winner;
}

bool RecordMerge::next() {
  if (sources_.empty()) return false;
  if (!started_) {
    started_ = true;
    for (Source& source : sources_) load(source);
    winner_ = play(1);
  } else {
    Source& source = sources_[winner_];
    if (marks_same_ || on_disorder_) before_.take(source.key, *source.cursor);
    load(source);
    if (on_disorder_ && !source.ended && before_.key().compare(source.key) > 0) {
      on_disorder_(*source.cursor);
    }
    for (std::size_t node = (winner_ + sources_.size()) / 2; node >= 1; node /= 2) {
      if (before(losers_[node], winner_)) std::swap(winner_, losers_[node]);
    }
    same_ = marks_same_ && !sources_[winner_].ended &&
            before_.key().compare(sources_[winner_].key) == 0;
  }
  return !sources_[winner_].ended;
}

}  // namespace xxl
