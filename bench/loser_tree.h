// A loser tree: merges k sorted runs, one comparison a level for each record.
//
// The runs are the leaves of a binary tournament. Every inner node keeps the loser of the match
// played there, node 0 the winner of all. When the winner is taken, only its run has a new record,
// and that plays again on the way from its leaf to the root, against the losers kept there (Knuth,
// The Art of Computer Programming 3, section 5.4.1). Four runs that begin 5, 3, 8, 4:
//
//   before:   winner 3 (run 1)                 after:   winner 4 (run 3)
//             [1]: 4 (run 3)                            [1]: 5 (run 0)
//     [2]: 5 (run 0)   [3]: 8 (run 2)           [2]: 9 (run 1)   [3]: 8 (run 2)
//      run 0   run 1    run 2   run 3
//        5       3        8       4
//
// 3 is taken and 9 follows in run 1: it loses to the 5 in node 2, and that to the 4 in node 1.
//
// What makes it fast: a node holds the first word of the key with the number of the run behind it,
// as one integer. So a match needs no record from memory, ties go to the lower run (the merge is
// stable), a run that is at its end is a set bit above the run number (no key value is reserved to
// say so), and a match is a comparison and conditional moves instead of a branch that cannot be
// predicted. The way to the root is unrolled for up to 512 runs.
//
// What remains is latency: each match waits for the one before. So two merges side by side in one
// thread (merge_side_by_side) take less time than one behind the other; cut the work in two by
// multisequence selection to use that.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace xxl {

// The records of a run that are left: [position, end).
template <class Iterator>
struct RunCursor {
  Iterator position;
  Iterator end;
};

// Order of records that are nothing but an unsigned word. An order in general has
//   Word word(record) const          the first 4 or 8 bytes of the key as a number, and, where
//   words int compare_ties(a, b) const     do not decide: <0, 0 or >0 for records of equal words
template <class Word>
struct WordOrder {
  Word word(Word record) const { return record; }
};

// Order by any `less(a, b)`; slower, since every match reads both records.
template <class Less>
struct ComparatorOrder {
  Less less;
  std::uint32_t word(const auto&) const { return 0; }
  int compare_ties(const auto& a, const auto& b) const {
    return less(a, b) ? -1 : static_cast<int>(less(b, a));
  }
};
template <class Less>
ComparatorOrder(Less) -> ComparatorOrder<Less>;

// For runs that are in memory as a whole.
struct NoRefill {
  bool operator()(std::uint32_t, auto&) const { return false; }
};

// Iterator: random access; what it points to must stay valid until the record has been merged.
// Refill: `bool refill(run, cursor)` is called when a run's cursor is at its end; it gives the
// cursor more records of the run, at least one, and returns true, or returns false if there are
// none.
template <class Iterator, class Order, class Refill = NoRefill>
class LoserTree {
 public:
  using Cursor = RunCursor<Iterator>;

  // `runs`: any number below 2^31, empty ones included; each is sorted by `order`. Their order
  // decides ties.
  explicit LoserTree(std::vector<Cursor> runs, Order order = {}, Refill refill = {})
      : cursors_(std::move(runs)), order_(std::move(order)), refill_(std::move(refill)) {
    XXL_CHECK(cursors_.size() < kExhausted);
    const std::size_t leaves = std::bit_ceil(std::max<std::size_t>(cursors_.size(), 1));
    levels_ = static_cast<unsigned>(std::bit_width(leaves) - 1);
    build(leaves);
  }

  // True when every record has been merged.
  bool empty() const { return exhausted(nodes_[0]); }

  // Writes the next `count` records in order to `out`, or all that are left; returns how many.
  template <class Out>
  std::size_t merge(Out out, std::size_t count) {
    std::size_t merged = 0;
    with_levels([&](auto levels) {
      Lane<Out> lane(*this, out);
      for (; merged < count && !lane.done(); ++merged) lane.template step<levels()>();
    });
    return merged;
  }

  // Does a.merge(out_a, count_a) and b.merge(out_b, count_b), faster. Best for trees of about the
  // same number of runs and equal counts.
  template <class Out>
  static std::pair<std::size_t, std::size_t> merge_side_by_side(LoserTree& a, Out out_a,
                                                                std::size_t count_a, LoserTree& b,
                                                                Out out_b, std::size_t count_b) {
    std::size_t both = 0;
    if (a.levels_ == b.levels_) {
      const std::size_t count = std::min(count_a, count_b);
      a.with_levels([&](auto levels) {
        Lane<Out> lane_a(a, out_a);
        Lane<Out> lane_b(b, out_b);
        for (; both < count && !lane_a.done() && !lane_b.done(); ++both) {
          lane_a.template step<levels()>();
          lane_b.template step<levels()>();
        }
      });
    }
    return {both + a.merge(out_a, count_a - both), both + b.merge(out_b, count_b - both)};
  }

 private:
  using Word = std::remove_cvref_t<decltype(std::declval<const Order&>().word(
      *std::declval<const Iterator&>()))>;
  static_assert(std::same_as<Word, std::uint32_t> || std::same_as<Word, std::uint64_t>);
  // The word above, kExhausted and the run number below.
  using Node = std::conditional_t<sizeof(Word) == 4, std::uint64_t, unsigned __int128>;
  static constexpr unsigned kWordShift = 8 * sizeof(Word);
  static constexpr std::uint32_t kExhausted = std::uint32_t{1} << 31;
  static constexpr unsigned kUnrolledLevels = 9;
  static constexpr bool kHasTies = requires(const Order& order, const Iterator& it) {
    { order.compare_ties(*it, *it) } -> std::convertible_to<int>;
  };

  static bool exhausted(Node node) { return (static_cast<std::uint32_t>(node) & kExhausted) != 0; }
  static std::uint32_t run_of(Node node) { return static_cast<std::uint32_t>(node) & ~kExhausted; }
  // Comes after every record, whatever its key.
  static Node exhausted_node(std::uint32_t run) {
    return static_cast<Node>(~Word{0}) << kWordShift | kExhausted | run;
  }

  // The node of the first record of `run`.
  Node contender(Cursor& cursor, std::uint32_t run) {
    if (cursor.position == cursor.end) [[unlikely]] {
      if (!refill_(run, cursor)) return exhausted_node(run);
    }
    return static_cast<Node>(order_.word(*cursor.position)) << kWordShift | run;
  }

  [[gnu::always_inline]] bool before(Node a, Node b) const {
    if constexpr (kHasTies) {
      if ((a >> kWordShift) == (b >> kWordShift) && !exhausted(a) && !exhausted(b)) {
        const int c =
            order_.compare_ties(*cursors_[run_of(a)].position, *cursors_[run_of(b)].position);
        if (c != 0) return c < 0;
      }
    }
    return a < b;
  }

  // A match: the loser stays in `kept`, the winner goes on in `winner`. Inlined by force,
  // here and in Lane: else the state of a long way to the root goes through memory, which takes
  // three times as long.
  [[gnu::always_inline]] void match(Node& kept, Node& winner) const {
    const Node other = kept;
    const bool other_wins = before(other, winner);
    kept = other_wins ? winner : other;
    winner = other_wins ? other : winner;
  }

  // Plays the first round of all matches: leaf i is node leaves + i.
  void build(std::size_t leaves) {
    std::vector<Node> winners(2 * leaves);
    for (std::uint32_t run = 0; run < leaves; ++run) {
      winners[leaves + run] =
          run < cursors_.size() ? contender(cursors_[run], run) : exhausted_node(run);
    }
    nodes_.resize(leaves);
    for (std::size_t node = leaves - 1; node > 0; --node) {
      nodes_[node] = winners[2 * node];
      winners[node] = winners[2 * node + 1];
      match(nodes_[node], winners[node]);
    }
    nodes_[0] = winners[1];
  }

  // Calls `loop` with levels_ as a constant, or with kUnrolledLevels + 1 for anything above.
  template <unsigned Levels = 0, class Loop>
  void with_levels(Loop loop) {
    if constexpr (Levels <= kUnrolledLevels) {
      if (Levels != levels_) return with_levels<Levels + 1>(loop);
    }
    loop(std::integral_constant<unsigned, Levels>());
  }

  // A merge under way, its state in registers: `out` may be of a type that could alias the members.
  // Puts the state back when it goes.
  template <class Out>
  class Lane {
   public:
    Lane(LoserTree& tree, Out& out)
        : tree_(tree),
          nodes_(tree.nodes_.data()),
          cursors_(tree.cursors_.data()),
          winner_(nodes_[0]),
          out_(out),
          result_(out) {}
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;
    ~Lane() {
      nodes_[0] = winner_;
      result_ = out_;
    }

    bool done() const { return exhausted(winner_); }

    // Takes the winner, and plays the matches of the next record of its run.
    template <unsigned Levels>
    [[gnu::always_inline]] void step() {
      const std::uint32_t run = run_of(winner_);
      Cursor& cursor = cursors_[run];
      *out_ = *cursor.position;
      ++out_;
      ++cursor.position;
      winner_ = tree_.contender(cursor, run);
      if constexpr (Levels <= kUnrolledLevels) {
        replay((std::size_t{1} << Levels) + run, std::make_index_sequence<Levels>());
      } else {
        std::size_t node = (std::size_t{1} << tree_.levels_) + run;
        while ((node /= 2) > 0) tree_.match(nodes_[node], winner_);
      }
    }

   private:
    template <std::size_t... Level>
    [[gnu::always_inline]] void replay([[maybe_unused]] std::size_t leaf,
                                       std::index_sequence<Level...>) {
      (tree_.match(nodes_[leaf >> (Level + 1)], winner_), ...);
    }

    LoserTree& tree_;
    Node* const nodes_;
    Cursor* const cursors_;
    Node winner_;
    Out out_;
    Out& result_;
  };

  std::vector<Cursor> cursors_;
  std::vector<Node> nodes_;  // [0] the winner, [1] the root's loser, children of i at 2i and 2i + 1
  unsigned levels_ = 0;
  [[no_unique_address]] Order order_;
  [[no_unique_address]] Refill refill_;
};

}  // namespace xxl
