#include "sort/counting_sort.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "base/thread.h"
#include "base/units.h"

namespace xxl {
namespace {

constexpr std::size_t kPieceRecords = std::size_t{1} << 18;  // written by a thread at a time

// All numbers, as they are in memory, in the order of the key. None if some have equal keys, and so
// are more than a key.
template <class Number>
std::optional<std::vector<Number>> numbers_in_order(const KeyLayout& layout) {
  constexpr std::size_t kNumbers = std::size_t{1} << (8 * sizeof(Number));
  std::vector<Number> numbers(kNumbers);
  std::vector<bool> found(kNumbers);
  for (std::size_t i = 0; i < kNumbers; ++i) {
    const auto number = static_cast<Number>(i);
    std::byte record[sizeof(std::uint64_t)] = {};
    std::memcpy(record, &number, sizeof number);
    const auto place = static_cast<std::size_t>(layout.word(record, 0) >> (64 - 8 * sizeof number));
    if (found[place]) return {};
    found[place] = true;
    numbers[place] = number;
  }
  return numbers;
}

template <class Number>
bool sort_numbers(const KeyLayout& layout, std::span<const std::byte> from, std::span<std::byte> to,
                  unsigned threads) {
  constexpr std::size_t kNumbers = std::size_t{1} << (8 * sizeof(Number));
  const std::size_t count = from.size() / sizeof(Number);
  if (count < 2 * kNumbers) return false;
  const auto numbers = numbers_in_order<Number>(layout);
  if (!numbers) return false;

  std::vector<std::vector<std::size_t>> counts(threads, std::vector<std::size_t>(kNumbers));
  run_numbered(threads, ceil_div(count, kPieceRecords), [&](unsigned thread, std::size_t piece) {
    const std::size_t end = std::min((piece + 1) * kPieceRecords, count);
    for (std::size_t i = piece * kPieceRecords; i < end; ++i) {
      Number number;
      std::memcpy(&number, from.data() + i * sizeof number, sizeof number);
      ++counts[thread][number];
    }
  });

  std::vector<std::size_t> ends(kNumbers);  // of the records of each number, in order
  std::size_t end = 0;
  for (std::size_t i = 0; i < kNumbers; ++i) {
    for (const auto& of_thread : counts) end += of_thread[(*numbers)[i]];
    ends[i] = end;
  }
  run_numbered(threads, ceil_div(count, kPieceRecords), [&](unsigned, std::size_t piece) {
    std::size_t at = piece * kPieceRecords;
    const std::size_t last = std::min(at + kPieceRecords, count);
    auto next = std::upper_bound(ends.begin(), ends.end(), at);
    for (; at < last; ++next) {
      const Number number = (*numbers)[static_cast<std::size_t>(next - ends.begin())];
      for (const std::size_t stop = std::min(*next, last); at < stop; ++at) {
        std::memcpy(to.data() + at * sizeof number, &number, sizeof number);
      }
    }
  });
  return true;
}

}  // namespace

bool sort_by_counting(const KeyLayout& layout, std::span<const std::byte> from,
                      std::span<std::byte> to, unsigned threads) {
  if (!layout.has_key_of_one_word()) return false;
  if (layout.record_bytes() == 1) return sort_numbers<std::uint8_t>(layout, from, to, threads);
  if (layout.record_bytes() == 2) return sort_numbers<std::uint16_t>(layout, from, to, threads);
  return false;
}

}  // namespace xxl
