#include "cluster/key_cuts.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "cluster/message.h"

namespace xxl {
namespace {

// Each rank gives so many samples. They make parts differ by another thousandth, about.
constexpr std::uint64_t kSamples = 1024;

// Keys of this rank's runs, each with the bytes of records from there to the next one.
std::vector<CellSample> sample(std::span<const GeneralRun* const> runs, std::uint64_t most) {
  std::vector<CellSample> all;
  std::uint64_t bytes = 0;
  for (const GeneralRun* const run : runs) {
    for (const GeneralBlock& block : run->blocks) {
      all.push_back({run->trigger(block), block.bytes});
      bytes += block.bytes;
    }
  }
  std::sort(all.begin(), all.end(),
            [](const CellSample& a, const CellSample& b) { return a.key < b.key; });
  std::vector<CellSample> samples;
  for (const CellSample& one : all) {
    if (samples.empty() || samples.back().bytes * most >= bytes) {
      samples.push_back(one);
    } else {
      samples.back().bytes += one.bytes;
    }
  }
  return samples;
}

}  // namespace

std::vector<std::string> choose_key_cuts(std::span<const GeneralRun* const> runs, Peers& peers) {
  MessageWriter writer;
  for (const CellSample& sample : sample(runs, kSamples)) {
    writer.put_text(sample.key);
    writer.put(sample.bytes);
  }
  std::vector<std::pair<std::string, std::uint64_t>> samples;
  std::uint64_t bytes = 0;
  for (const Message& message : tell_all(peers, writer.take())) {
    for (MessageReader reader(message); !reader.at_end();) {
      std::string key = reader.get_text();
      samples.emplace_back(std::move(key), reader.get<std::uint64_t>());
      bytes += samples.back().second;
    }
  }
  std::sort(samples.begin(), samples.end());
  std::vector<std::string> cuts;
  std::uint64_t below = 0;
  for (const auto& [key, own] : samples) {
    // The next cut is due where this many lie below it.
    const std::uint64_t due = bytes / peers.ranks() * (cuts.size() + 1);
    const bool is_due = cuts.size() + 1 < peers.ranks() && below + own / 2 >= due;
    if (is_due && !key.empty() && (cuts.empty() || cuts.back() < key)) cuts.push_back(key);
    below += own;
  }
  return cuts;
}

std::optional<KeyRange> range_of_rank(const std::vector<std::string>& cuts, unsigned rank) {
  if (rank > cuts.size()) return std::nullopt;
  KeyRange range;
  if (rank > 0) range.lower = cuts[rank - 1];
  if (rank < cuts.size()) range.upper = cuts[rank];
  return range;
}

}  // namespace xxl
