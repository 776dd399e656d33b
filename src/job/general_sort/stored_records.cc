#include "job/general_sort/stored_records.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "io/transfer.h"
#include "job/general_sort/general_reader.h"
#include "job/general_sort/region_filling.h"
#include "run/general_run.h"

namespace xxl {
namespace {

constexpr std::uint64_t kRecordSamples = 16;
constexpr std::size_t kRecordSampleBytes = 64 * kKiB;
// There may be more records than samples have by this part.
constexpr double kUnevenRecords = 1.0 / 16;
// Of all scratch: for records that are longer or shorter than those of the samples.
constexpr std::uint64_t kSpareScratchPart = 64;
constexpr std::uint64_t kSpareScratchSlots = 64;
// Blocks that the parts of a table in scratch describe at least (GeneralScratch).
constexpr std::uint64_t kBlocksOfPart = 100;
constexpr std::size_t kTablePartBytes = 8 * kKiB;

struct RecordSamples {
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
  std::size_t longest = 0;
};

// Terminators between quotes are counted, too: rather too many records than too few.
void add_record_sample(std::string_view text, char terminator, RecordSamples& samples) {
  samples.bytes += text.size();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(terminator), text.size());
    samples.longest = std::max(samples.longest, end);
    if (end < text.size()) ++samples.records;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Calls visit(file, offset) for places at equal distances in `inputs`, one after the other.
template <class Visit>
void visit_sample_places(const Inputs& inputs, std::uint64_t distance, Visit&& visit) {
  std::uint64_t at = inputs.start;  // in the current file
  for (const io::File& named : inputs.files) {
    if (at >= named.size()) {
      at -= named.size();
      continue;
    }
    try {
      const bool reads_itself = named.is_open();
      const io::File opened = reads_itself ? io::File() : io::File::open_input(named.path());
      const io::File& file = reads_itself ? named : opened;
      for (; at < named.size(); at += distance) {
        visit(file, round_down<std::uint64_t>(at, kSectorBytes));
      }
    } catch (const Error&) {
      at += round_up<std::uint64_t>(named.size() - std::min(at, named.size()), distance);
    }
    at -= named.size();
  }
}

RecordSamples samples_of(const Inputs& inputs, char terminator) {
  RecordSamples samples;
  const MemoryRegion memory(kRecordSampleBytes);
  const std::span<std::byte> buffer = memory.span().first(kRecordSampleBytes);
  const std::uint64_t distance =
      std::max<std::uint64_t>(inputs.bytes / kRecordSamples, kRecordSampleBytes);
  visit_sample_places(inputs, distance, [&](const io::File& file, std::uint64_t offset) {
    const std::size_t bytes = io::read_at(file, offset, buffer);
    add_record_sample({reinterpret_cast<const char*>(buffer.data()), bytes}, terminator, samples);
  });
  return samples;
}

// Runs that are formed of `records`, each of a chunk of the input, or of a part of it where there
// is too little room for tags.
std::uint64_t most_runs(const GeneralGeometry& geometry, const StoredRecords& records) {
  if (records.records == 0) return records.input_bytes / (geometry.region_bytes / 2) + 1;
  const double record = static_cast<double>(records.input_bytes) /
                        static_cast<double>(std::max<std::uint64_t>(records.records, 1));
  const RegionFilling filling = fill_region(geometry, records.tag_growth, GeneralReader::kHeadroom,
                                            0, {records.records, records.input_bytes});
  double parts = 1;
  if (records.tag_growth) {
    const double growth = static_cast<double>(*records.tag_growth);
    const double wanted = static_cast<double>(filling.data_bytes) / record * growth;
    parts = std::max(1.0, std::ceil(wanted / static_cast<double>(filling.free_bytes)));
  }
  // The first chunks are read before any record has been seen.
  const RegionFilling first =
      fill_region(geometry, records.tag_growth, GeneralReader::kHeadroom, 0, {});
  const double parts_of_first = parts * std::max(1.0, static_cast<double>(first.data_bytes) /
                                                          static_cast<double>(filling.data_bytes));
  return static_cast<std::uint64_t>(
      parts *
          (static_cast<double>(records.input_bytes) / static_cast<double>(filling.data_bytes) + 1) +
      std::ceil(parts_of_first) * static_cast<double>(geometry.regions));
}

}  // namespace

StoredRecords sample_records(const Inputs& inputs, const RecordSyntax& syntax,
                             const RecordTags& tags) {
  StoredRecords stored;
  stored.input_bytes = inputs.bytes;
  const std::size_t tag_bytes = tags.are_made() ? tags.bytes() : 0;
  if (tag_bytes > 0) {
    stored.tag_growth = tag_bytes - std::min(tag_bytes, syntax.frame_bytes());
  }
  double records = 0;
  if (syntax.record_bytes != 0) {
    stored.longest = syntax.record_bytes;
    records = static_cast<double>(inputs.bytes / syntax.record_bytes);
  } else {
    const RecordSamples samples = samples_of(inputs, syntax.terminator);
    stored.longest = samples.longest;
    if (samples.bytes > 0) {
      records = static_cast<double>(inputs.bytes) / static_cast<double>(samples.bytes) *
                static_cast<double>(samples.records);
    }
  }
  stored.longest += tag_bytes;
  stored.records = static_cast<std::uint64_t>(records) + inputs.files.size();
  // The length stands where the frame was, and so does a tag, as far as it is no longer.
  const std::size_t growth =
      tag_bytes + length_bytes(stored.longest) - std::min<std::size_t>(syntax.frame_bytes(), 1);
  const double uneven = syntax.record_bytes != 0 ? records : records * (1 + kUnevenRecords);
  stored.bytes = inputs.bytes + inputs.files.size() +
                 static_cast<std::uint64_t>(uneven * static_cast<double>(growth));
  return stored;
}

// Not all of a slot is used at the end of each block that another record would not fit into, and of
// the first and the last block of each run. Merging frees the place of a block before it writes its
// records again.
std::uint64_t most_scratch_bytes(const GeneralGeometry& geometry, const StoredRecords& records) {
  const std::uint64_t slot = geometry.slot_bytes, block = geometry.block_bytes;
  const std::uint64_t longest = records.longest;
  const std::uint64_t least_filled = block - std::min(longest, block / 2);
  const std::uint64_t unused = std::min(longest, slot) * (longest > block ? 2 : 1);
  const std::uint64_t runs = most_runs(geometry, records);
  const std::uint64_t blocks = records.bytes / least_filled + 2 * runs;
  const std::uint64_t tables =
      (blocks / kBlocksOfPart + 1) * round_up<std::uint64_t>(kTablePartBytes, slot);
  const std::uint64_t bytes =
      records.bytes + records.bytes / least_filled * unused + 2 * runs * slot + tables;
  return round_up(bytes + bytes / kSpareScratchPart, slot) + kSpareScratchSlots * slot;
}

}  // namespace xxl
