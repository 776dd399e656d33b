#include "job/general_sort/general_formation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/prefetch.h"
#include "base/units.h"
#include "job/general_sort/emit_rules.h"
#include "job/general_sort/long_records.h"
#include "record/text_records.h"
#include "run/general_run.h"

namespace xxl {
namespace {

constexpr std::size_t kResidentPart = 3;  // of the regions stay with resident runs

struct ChunkAccess {
  const char* memory;
  std::string_view operator()(std::uint64_t place) const { return chunk_record(memory, place); }
  [[gnu::always_inline]] void prefetch(std::uint64_t place) const {
    prefetch_record((*this)(place).data());
  }
};

// Room for items after the data of `region`, for at most `most` of them.
std::span<StringItem> item_room(Region& region, std::size_t most) {
  std::byte* const first =
      region.memory + round_up<std::size_t>(region.data_end - region.memory, 64);
  const std::byte* const end = region.memory + region.bytes;
  const std::size_t room =
      first < end ? static_cast<std::size_t>(end - first) / sizeof(StringItem) : 0;
  return {reinterpret_cast<StringItem*>(first), std::min(room, most)};
}

// Bytes that all records of `items` start with; 0 for a single one.
std::size_t common_prefix(std::span<const StringItem> items, const ChunkAccess& access) {
  if (items.size() < 2) return 0;
  std::size_t bytes = access(items[0].ref).size();
  for (std::size_t i = 1; i < items.size() && bytes > 0; ++i) {
    bytes = string_sort_detail::common_prefix(access(items[0].ref).substr(0, bytes),
                                              access(items[i].ref), 0);
  }
  return bytes;
}

}  // namespace

GeneralFormation::GeneralFormation(FormationContext context)
    : context_(std::move(context)),
      records_(context_.options, context_.inputs),
      reader_(context_.inputs, context_.options.syntax, context_.io, context_.monitor,
              context_.on_header, context_.options.first_record) {}

void GeneralFormation::make_regions(std::size_t longest_record) {
  context_.memory.divide(longest_record);
  const std::span<std::byte> memory = context_.memory.regions();
  auto lock = context_.monitor.lock();
  regions_.clear();
  free_.clear();
  for (std::size_t i = 0; i < geometry().regions; ++i) {
    Region& region = regions_.emplace_back();
    region.memory = memory.data() + i * geometry().region_bytes;
    region.bytes = geometry().region_bytes;
  }
  // The first ones are taken first, and again when free: their memory is warm.
  for (auto it = regions_.rbegin(); it != regions_.rend(); ++it) free_.push_back(&*it);
}

// False if there is no memory for larger ones.
bool GeneralFormation::make_larger_regions() {
  const std::size_t bytes = std::max(reader_.carried_bytes(), geometry().region_bytes);
  const std::size_t most = context_.memory.longest_possible(bytes);
  if (most == 0) return false;
  make_regions(std::min(2 * bytes, most));
  return true;
}

// Throws LongRecordError: the record that the last chunk ended within does not fit.
void GeneralFormation::refuse_carried() {
  const GeneralSortOptions& options = context_.options;
  RecordLengths lengths(options.syntax);
  lengths.add({reader_.carry(), reader_.carried_bytes()});
  read_on(context_.inputs, reader_.next_input(), reader_.next_position(), options.stop, lengths);
  const std::uint64_t bytes = std::max(lengths.first(), lengths.begun());
  const std::uint64_t longest = lengths.longest()[0];
  for (const MergeSource& source : sources()) {
    if (source.run != nullptr) lengths.add_record(source.run->largest_block);
  }
  const io::File& input = context_.inputs.files[reader_.carried_input()];
  const bool has_places = input.caller() == nullptr;
  throw LongRecordError(
      too_long(bytes, longest, options.given_memory_bytes(), reader_.open_quote_of_carry()),
      long_records(lengths.longest(), options.has_groups()), input.path(),
      has_places ? reader_.carried_offset() : Error::kNoOffset);
}

// What `record`, with its tag, takes in the input.
std::size_t GeneralFormation::input_bytes(std::string_view record) const {
  const GeneralSortOptions& options = context_.options;
  return record.size() - options.put_tag_bytes() + options.syntax.frame_bytes();
}

RegionFilling GeneralFormation::filling() const {
  return fill_region(geometry(), context_.options.tag_growth(),
                     reader_.headroom(geometry().region_bytes), reader_.carried_bytes(),
                     {seen_records_, seen_bytes_});
}

void GeneralFormation::start_reading(Region& region) {
  const RegionFilling filled = filling();
  region.free_bytes = filled.free_bytes;
  const std::size_t bytes = filled.free_bytes + reader_.headroom(region.bytes) + filled.data_bytes;
  reader_.start(region, std::min(bytes, region.bytes));
}

Region* GeneralFormation::try_take_region() {
  auto lock = context_.monitor.lock();
  if (free_.empty()) return nullptr;
  Region* region = free_.back();
  free_.pop_back();
  return region;
}

Region* GeneralFormation::take_region() {
  for (;;) {
    if (Region* region = try_take_region()) return region;
    spill_oldest();
    context_.monitor.wait([&] { return !free_.empty() || running_ == 0; });
  }
}

void GeneralFormation::give_back(Region* region) {
  auto lock = context_.monitor.lock();
  free_.push_back(region);
}

void GeneralFormation::wait_for_workers() {
  context_.monitor.wait([&] { return running_ == 0; });
}

// Starts to write the oldest resident runs to scratch, one for each worker. False if there is none.
bool GeneralFormation::spill_oldest() {
  GeneralScratch* scratch = nullptr;
  for (unsigned i = 0; i < context_.workers.width(); ++i) {
    {
      auto lock = context_.monitor.lock();
      const bool any = std::any_of(formed_.begin(), formed_.end(),
                                   [](const Formed& formed) { return formed.region != nullptr; });
      if (!any) return i > 0;
    }
    if (scratch == nullptr) scratch = &context_.scratch.get();
    Formed formed;
    {
      auto lock = context_.monitor.lock();
      auto oldest = formed_.end();
      for (auto it = formed_.begin(); it != formed_.end(); ++it) {
        if (it->region != nullptr && (oldest == formed_.end() || it->order < oldest->order)) {
          oldest = it;
        }
      }
      if (oldest == formed_.end()) return i > 0;
      formed = std::move(*oldest);
      formed_.erase(oldest);
      ++running_;
    }
    context_.workers.run([this, formed = std::make_shared<Formed>(std::move(formed)),
                          token = in_flight_.begin()](unsigned) mutable {
      context_.monitor.guard([&] {
        context_.monitor.pass();
        Region* const region = formed->region;
        write_run(*formed, formed->items, reinterpret_cast<const char*>(region->memory));
        formed->region = nullptr;
        auto lock = context_.monitor.lock();
        formed_.push_back(std::move(*formed));
        free_.push_back(region);
      });
      context_.monitor.change([&] { --running_; });
      token.reset();
    });
  }
  return true;
}

// No region is in use then, if nothing is being read ahead.
void GeneralFormation::wait_until_all_is_written() {
  do {
    wait_for_workers();
  } while (spill_oldest());
  if (offload_ != nullptr) offload_->settle();
  if (GeneralScratch* const scratch = context_.scratch.opened()) scratch->wait_for_writes();
}

// True if the runs should be compacted. Those of an accelerator are so long that they need not be.
bool GeneralFormation::tables_are_full() {
  if (offload_ != nullptr) return false;
  auto lock = context_.monitor.lock();
  return table_bytes_ > geometry().table_bytes && formed_.size() > 1;
}

RunReducer& GeneralFormation::reducer() {
  if (!reducer_) {
    reducer_.emplace(context_.options, context_.keys(), context_.memory, context_.scratch,
                     context_.workers, context_.monitor);
  }
  return *reducer_;
}

// Merges the runs that were formed to longer ones, whose tables are in scratch, in the memory of
// the regions.
void GeneralFormation::compact() {
  wait_until_all_is_written();
  std::sort(formed_.begin(), formed_.end(),
            [](const Formed& a, const Formed& b) { return a.order < b.order; });
  std::vector<MergeSource> sources;
  for (const Formed& formed : formed_) sources.emplace_back().run = formed.run.get();
  {
    BlockMemory blocks(context_.monitor);
    // The beginning of a record that was cut stays, in front.
    const std::span<std::byte> memory = context_.memory.regions();
    reader_.move_carry(memory.data());
    blocks.extents().add(memory.subspan(round_up(reader_.carried_bytes(), kSectorBytes)));
    for (const MergeSource& source : reducer().compact(sources, blocks)) {
      if (source.run->parts != nullptr) compacted_.push_back(source);
    }
    // There may be many of those, too.
    if (2 * table_bytes(compacted_) > geometry().table_bytes) {
      compacted_ = reducer().compact(compacted_, blocks);
    }
  }
  // Of an odd number, one run may remain unchanged.
  std::erase_if(formed_, [](const Formed& formed) { return formed.run->blocks.empty(); });
  formed_.shrink_to_fit();
  give_back_free_memory();
  auto lock = context_.monitor.lock();
  table_bytes_ = table_bytes(compacted_);
  for (const Formed& formed : formed_) table_bytes_ += table_bytes(*formed.run);
}

void GeneralFormation::make_offload() {
  const Inputs& inputs = context_.inputs;
  OffloadContext offload{context_.options, *context_.accelerator,
                         inputs.size_known ? inputs.bytes : 0, records_, faults_, context_.monitor,
                         context_.workers, context_.memory, context_.scratch, context_.keys,
                         // Where regions go from there:
                         [this](Region* region) {
                           context_.monitor.change([&] {
                             free_.push_back(region);
                             --running_;
                           });
                         },
                         [this](Region* region, RegionPlace place, RunOrder order) {
                           run_sort({order, region, place, true});
                         }};
  offload_ = std::make_unique<GeneralOffload>(std::move(offload));
}

// The accelerator's runs take their places among the others.
void GeneralFormation::finish_offload() {
  offload_->finish();
  for (GeneralOffload::FormedRun& formed : offload_->take_runs()) {
    formed_.push_back({formed.order, std::move(formed.run), nullptr, {}, formed.bytes});
  }
  auto lock = context_.monitor.lock();
  input_hash_ += offload_->input_hash();
  removed_hash_ += offload_->removed_hash();
  record_bytes_ += offload_->record_bytes();
  output_bytes_ += offload_->record_bytes();
}

void GeneralFormation::run() {
  make_regions(0);
  if (context_.accelerator != nullptr) make_offload();
  const bool are_shared = context_.options.shared != nullptr;
  fits_in_memory_ =
      !are_shared && (!context_.memory.input().size_known || context_.memory.holds_input());
  if (!fits_in_memory_) context_.scratch.get();  // space is reserved before work begins
  Region* ahead = nullptr;
  const auto cancel_ahead = [&] {
    if (ahead == nullptr) return;
    reader_.cancel(*ahead);
    give_back(std::exchange(ahead, nullptr));
  };
  while (ahead != nullptr || !reader_.finished()) {
    if (tables_are_full()) {
      cancel_ahead();
      compact();
    }
    Region* region = std::exchange(ahead, nullptr);
    if (region != nullptr && !reader_.has_room_for_carry(*region)) {
      reader_.cancel(*region);
      give_back(std::exchange(region, nullptr));
    }
    if (region == nullptr) {
      region = take_region();
      start_reading(*region);
    } else {
      reader_.take_carry(*region);
    }
    if (reader_.can_read_ahead()) {
      ahead = try_take_region();
      if (ahead != nullptr) start_reading(*ahead);
    }
    if (reader_.finish(*region)) {
      submit(region);
      continue;
    }
    // No whole record.
    cancel_ahead();
    if (reader_.carried_bytes() + 2 * GeneralReader::kHeadroom <= geometry().region_bytes) {
      give_back(region);  // there is room for more of the record
      continue;
    }
    wait_until_all_is_written();
    if (make_larger_regions()) continue;
    refuse_carried();
  }
  wait_for_workers();
  if (offload_ != nullptr) finish_offload();
  // With runs in scratch, the merge needs room.
  for (;;) {
    std::size_t resident = 0, in_scratch = compacted_.size();
    bool has_long;
    {
      auto lock = context_.monitor.lock();
      has_long = has_long_records();
      for (const Formed& formed : formed_) ++(formed.region != nullptr ? resident : in_scratch);
    }
    // As much room as all runs need to be merged at once, if there is so much.
    const bool has_room =
        merges_at_once(in_scratch, resident) || !merges_at_once(in_scratch + resident, 0);
    if (in_scratch == 0 || resident == 0 ||
        (resident <= geometry().regions / kResidentPart && has_room && !has_long)) {
      break;
    }
    spill_oldest();
    wait_for_workers();
  }
  std::sort(formed_.begin(), formed_.end(),
            [](const Formed& a, const Formed& b) { return a.order < b.order; });
}

// Whether there is memory for two blocks of each run in scratch beside `resident` runs.
bool GeneralFormation::merges_at_once(std::size_t in_scratch, std::size_t resident) const {
  const std::size_t free_bytes = geometry().merge_bytes - resident * geometry().region_bytes;
  return in_scratch * 2 * geometry().block_bytes <= free_bytes / 8 * 7;
}

// Whether a run in scratch has a record that is longer than a block. With the lock held.
bool GeneralFormation::has_long_records() const {
  return std::any_of(formed_.begin(), formed_.end(), [&](const Formed& formed) {
    return formed.run != nullptr && formed.run->largest_block > 2 * geometry().block_bytes;
  });
}

void GeneralFormation::submit(Region* region) {
  if (context_.options.progress != nullptr) {
    context_.options.progress->phase_bytes_done = reader_.bytes_read();
  }
  if (region->segments.empty()) return give_back(region);
  const std::uint64_t number = chunks_++;
  faults_.announce(number);
  if (offload_ != nullptr) {
    {
      auto lock = context_.monitor.lock();
      ++running_;
    }
    return offload_->add(number, *region);
  }
  Chunk chunk{{number, 0}, region, {}, false};
  if (!fits_in_memory_) {
    const std::uint64_t left =
        context_.inputs.bytes - std::min(context_.inputs.bytes, reader_.bytes_read());
    const std::uint64_t kept = geometry().regions / kResidentPart * filling().data_bytes;
    chunk.spill = left >= kept || context_.options.shared != nullptr;
  }
  {
    auto lock = context_.monitor.lock();
    ++running_;
  }
  run_sort(chunk);
}

// On a worker; the chunk is counted as running.
void GeneralFormation::run_sort(const Chunk& chunk) {
  context_.workers.run([this, chunk, token = in_flight_.begin()](unsigned thread) mutable {
    context_.monitor.guard([&] {
      context_.monitor.pass();
      faults_.watch(chunk.order.region, [&] { sort_chunk(chunk, thread); });
      faults_.pass(chunk.order.region);
    });
    context_.monitor.change([&] { --running_; });
    token.reset();
  });
}

// Makes items of the records of `region` from `place` on, as many as fit. Tags are put in front of
// records, which move to the start of the region then; where tags are no longer than what ends a
// record, they take its place, and records stay.
std::size_t GeneralFormation::load_items(const Region& region, std::span<StringItem> items,
                                         RegionPlace& place, MultisetHash& hash) {
  char* const memory = reinterpret_cast<char*>(region.memory);
  const RecordTags& tags = context_.options.tags;
  const std::size_t tag_bytes = context_.options.put_tag_bytes();
  const std::size_t own_bytes = tags.bytes() - tag_bytes;
  char* to = memory;  // with its tag, where the next record goes
  if (context_.options.tag_growth() == 0 && place.segment < region.segments.size()) {
    to += region.segments[place.segment].text.data() + place.offset - memory - tag_bytes;
  }
  std::size_t count = 0;
  while (place.segment < region.segments.size()) {
    const GeneralSegment& from = region.segments[place.segment];
    if (place.offset == 0) records_.check(from);
    place.offset = records_.visit(from, place.offset, [&](std::string_view record) {
      const bool has_room = !tags.are_made() || to + tag_bytes <= record.data();
      if (count == items.size() || !has_room) return false;
      add_record(hash, record.substr(own_bytes));
      if (tags.are_made()) {
        const std::uint64_t tag = tags.of(from.place_of(record), from.input);
        if (to + tag_bytes != record.data()) {
          std::memmove(to + tag_bytes, record.data(), record.size());
        }
        put_tag(to, tag, tag_bytes);
        record = {to, tag_bytes + record.size()};
        to += record.size();
      }
      if (tags.are_keys()) items[count].word = key_word(record, 0);
      items[count++].ref =
          chunk_place(static_cast<std::size_t>(record.data() - memory), record.size());
      return true;
    });
    if (place.offset < from.text.size()) return count;
    place = {place.segment + 1, 0};
  }
  return count;
}

void GeneralFormation::sort_chunk(const Chunk& chunk, unsigned thread) {
  Region& region = *chunk.region;
  const char* const memory = reinterpret_cast<const char*>(region.memory);
  CellWorkspace& workspace = context_.memory.workspace(thread);
  // Items lie after the data or, if there is no room, in the worker's own memory.
  std::span<StringItem> own = item_room(region, workspace.scratch.size());
  bool may_stay = !chunk.spill;
  if (own.size() < workspace.items.size() / 4) {
    own = workspace.items;
    may_stay = false;
  }
  const ChunkAccess access{memory};
  StringSorter<ChunkAccess> sorter(access, context_.keys(), workspace.scratch,
                                   workspace.key_memory);
  RegionPlace place = chunk.place;
  const bool from_start = place.at_start();
  for (RunOrder order = chunk.order; place.segment < region.segments.size(); ++order.part) {
    MultisetHash hash;
    std::span<StringItem> items = own.first(load_items(region, own, place, hash));
    const bool whole = from_start && order.part == 0 && place.segment == region.segments.size();
    const auto needed = context_.options.needed_of_run();
    if (needed) items = threshold_.drop(items, memory, context_.keys());
    const std::size_t depth = context_.keys().is_whole_record() ? common_prefix(items, access) : 0;
    if (context_.options.tags.are_keys()) {
      sorter.sort_by_words(items, 0);
    } else {
      sorter.sort(items, depth);
    }
    Formed formed{order, nullptr, nullptr, {}, 0};
    MultisetHash removed;
    GroupSelection selection = emit_rules_of_run(context_.options, context_.keys()).kept;
    const std::size_t sorted = items.size();
    const std::size_t output_frame_bytes =
        context_.options.output_syntax().frame_bytes() - context_.options.dropped_bytes();
    std::uint64_t bytes = 0, output_bytes = 0, sorted_bytes = 0;
    std::size_t kept = 0;
    for (const StringItem& item : items) {
      const std::string_view record = access(item.place());
      sorted_bytes += input_bytes(record);
      if (!selection.keeps(record, item.same_key())) {
        add_record(removed, record.substr(context_.options.tags.bytes()));
        continue;
      }
      bytes += record.size() + 1;
      output_bytes += record.size() + output_frame_bytes;
      items[kept++] = item;
    }
    items = items.first(kept);
    if (needed) {
      threshold_.learn(items, memory, context_.keys(), *needed, context_.options.unique);
      if (!context_.options.fold && items.size() > *needed) {
        items = items.first(static_cast<std::size_t>(*needed));
      }
    }
    formed.bytes = bytes;
    seen_records_ += sorted;
    seen_bytes_ += sorted_bytes;
    const bool stays = may_stay && whole;
    if (stays) {
      formed.region = &region;
      formed.items = items;
    } else {
      write_run(formed, items, memory);
    }
    auto lock = context_.monitor.lock();
    input_hash_ += hash;
    removed_hash_ += removed;
    record_bytes_ += bytes;
    output_bytes_ += output_bytes;
    formed_.push_back(std::move(formed));
    if (stays) return;
  }
  auto lock = context_.monitor.lock();
  free_.push_back(&region);
}

void GeneralFormation::write_run(Formed& formed, std::span<const StringItem> items,
                                 const char* memory) {
  auto run = std::make_unique<GeneralRun>();
  GeneralRunWriter writer(*run, context_.keys(), context_.scratch.get(),
                          context_.memory.write_buffers(), geometry().block_bytes);
  const ChunkAccess access{memory};
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i + kPrefetchRecords < items.size()) {
      access.prefetch(items[i + kPrefetchRecords].place());
    }
    writer.add(access(items[i].place()));
  }
  writer.finish();
  formed.run = std::move(run);
  formed.items = {};
  auto lock = context_.monitor.lock();
  table_bytes_ += table_bytes(*formed.run);
}

std::vector<MergeSource> GeneralFormation::sources() {
  std::vector<MergeSource> sources = compacted_;
  for (Formed& formed : formed_) {
    MergeSource source;
    if (formed.run != nullptr) {
      source.run = formed.run.get();
    } else {
      source.resident = {reinterpret_cast<const char*>(formed.region->memory), formed.items,
                         formed.bytes};
    }
    sources.push_back(source);
  }
  return sources;
}

std::vector<std::span<std::byte>> GeneralFormation::free_memory() const {
  std::vector<std::span<std::byte>> free;
  for (const Region& region : regions_) {
    const bool held = std::any_of(formed_.begin(), formed_.end(),
                                  [&](const Formed& formed) { return formed.region == &region; });
    if (!held) free.push_back({region.memory, region.bytes});
  }
  free.push_back(context_.memory.regions().subspan(regions_.size() * geometry().region_bytes));
  return free;
}

std::vector<std::unique_ptr<GeneralRun>> GeneralFormation::take_runs() {
  std::vector<std::unique_ptr<GeneralRun>> runs;
  for (Formed& formed : formed_) {
    if (formed.run != nullptr) runs.push_back(std::move(formed.run));
  }
  return runs;
}

}  // namespace xxl
