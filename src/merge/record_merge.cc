#include "merge/record_merge.h"

#include <utility>

#include "sort/string_sort.h"

namespace xxl {
namespace {

// Of a made key, as many bytes are kept: there may be a cursor for each of some thousand runs.
constexpr std::size_t kKeptBytes = 4096;

}  // namespace

RecordMerge::RecordMerge(std::vector<std::unique_ptr<RecordCursor>> cursors,
                         const KeyExtractor& keys, bool marks_same)
    : keys_(keys), marks_same_(marks_same), losers_(cursors.size()) {
  for (auto& cursor : cursors) {
    Source& source = sources_.emplace_back();
    source.cursor = std::move(cursor);
  }
}

void RecordMerge::load(Source& source) {
  source.ended = !source.cursor->advance();
  if (source.ended) return;
  source.key = key_of(keys_, source.cursor->record(), kKeptBytes, source.made);
  if (!keys_.is_whole_record()) {
    source.whole = source.made.size() < kKeptBytes;
    if (source.made.size() > kKeptBytes) {  // it may be much more
      source.made.resize(kKeptBytes);
      source.made.shrink_to_fit();
    }
    source.key = source.made;
  }
  source.word = key_word(source.key, 0);
}

int RecordMerge::compare(const Source& x, const Source& y) {
  const int order = x.key.compare(y.key);
  if (order != 0 || x.whole) return order;
  return whole_key(x.cursor->record(), 0).compare(whole_key(y.cursor->record(), 1));
}

// True if the record of `a` is to come before that of `b`.
bool RecordMerge::before(std::size_t a, std::size_t b) {
  const Source& x = sources_[a];
  const Source& y = sources_[b];
  if (x.ended || y.ended) return !x.ended || (y.ended && a < b);
  if (x.word != y.word) return x.word < y.word;
  const int order = compare(x, y);
  return order != 0 ? order < 0 : a < b;
}

// Keeps the key, which is gone when the cursor goes on.
void RecordMerge::remember(const Source& source) {
  last_key_ = source.key;
  last_is_whole_ = source.whole;
  if (!source.whole) last_record_ = source.cursor->record();
}

bool RecordMerge::is_remembered(const Source& source) {
  if (last_key_ != source.key || last_is_whole_ != source.whole) return false;
  if (source.whole) return true;
  const std::string_view record = source.cursor->record();
  return last_record_ == record || whole_key(last_record_, 0) == whole_key(record, 1);
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
    if (marks_same_) remember(sources_[winner_]);
    load(sources_[winner_]);
    for (std::size_t node = (winner_ + sources_.size()) / 2; node >= 1; node /= 2) {
      if (before(losers_[node], winner_)) std::swap(winner_, losers_[node]);
    }
    same_ = marks_same_ && !sources_[winner_].ended && is_remembered(sources_[winner_]);
  }
  return !sources_[winner_].ended;
}

}  // namespace xxl
