#include "cluster/general_slices.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "cluster/message.h"

namespace xxl {
namespace {

// Of each rank: parts then differ by another thousandth of a part or so.
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

// Of `run`, blocks [first, last).
void put_part(MessageWriter& writer, const GeneralRun& run, SliceOrigin origin, std::size_t first,
              std::size_t last, bool with_places) {
  std::uint64_t bytes = 0;
  for (std::size_t block = first; block < last; ++block) bytes += run.blocks[block].bytes;
  const double part = static_cast<double>(bytes) / static_cast<double>(run.bytes);
  writer.put(origin);
  writer.put(static_cast<std::uint64_t>(part * static_cast<double>(run.records)));  // about
  put_blocks(writer, run, first, last, with_places);
  for (std::size_t block = first; block < last; ++block) writer.put_text(run.trigger(block));
  // (The trigger of the next block is no smaller.)
  writer.put_text(last == run.blocks.size() ? std::string_view(run.last_key) : run.trigger(last));
}

std::unique_ptr<GeneralRun> get_part(MessageReader& reader, SliceOrigin& origin) {
  origin = reader.get<SliceOrigin>();
  auto run = std::make_unique<GeneralRun>();
  run->records = reader.get<std::uint64_t>();
  get_blocks(reader, *run);
  for (GeneralBlock& block : run->blocks) {
    block.trigger_begin = static_cast<std::uint32_t>(run->triggers.size());
    run->triggers += reader.get_text();
    run->bytes += block.bytes;
    run->largest_block = std::max(run->largest_block, BlockSource::buffer_bytes(block));
  }
  run->last_key = reader.get_text();
  return run;
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

GeneralSlices exchange_slices(std::span<const GeneralRun* const> runs, std::uint32_t first_run,
                              const std::vector<std::string>& cuts, const LocalScratch& scratch,
                              Peers& peers) {
  const GeneralCells ranges(cuts);
  std::vector<MessageWriter> writers(peers.ranks());
  for (std::uint32_t number = 0; number < runs.size(); ++number) {
    const GeneralRun& run = *runs[number];
    const std::vector<CellRange> of_blocks = cell_ranges(ranges, run);
    // Both ends of the blocks' ranges ascend.
    for (unsigned rank = 0; rank < ranges.count(); ++rank) {
      const auto first = std::partition_point(of_blocks.begin(), of_blocks.end(),
                                              [&](CellRange range) { return range.last < rank; });
      const auto last = std::partition_point(first, of_blocks.end(),
                                             [&](CellRange range) { return range.first <= rank; });
      if (first == last) continue;
      put_part(writers[rank], run, {peers.rank(), first_run + number},
               static_cast<std::size_t>(first - of_blocks.begin()),
               static_cast<std::size_t>(last - of_blocks.begin()), scratch.is_open_to(rank));
    }
  }
  std::vector<Message> messages;
  for (MessageWriter& writer : writers) messages.push_back(writer.take());
  GeneralSlices slices;
  for (const Message& message : peers.exchange(std::move(messages))) {
    for (MessageReader reader(message); !reader.at_end();) {
      slices.runs.push_back(get_part(reader, slices.origins.emplace_back()));
    }
  }
  return slices;
}

}  // namespace xxl
