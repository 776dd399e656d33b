// The sort of text from end to end. In order: open the inputs; divide the memory; open the output;
// form runs; merge them, in as many passes as it takes; compare what went in with what came out;
// publish. Nothing appears before the last step.
#include "pipeline/text_sort.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "base/workers.h"
#include "io/inline_queue.h"
#include "io/scratch_store.h"
#include "merge/record_emitter.h"
#include "merge/run_cursor.h"
#include "merge/text_merger.h"
#include "pipeline/file_cursor.h"
#include "pipeline/output.h"
#include "pipeline/phase_meter.h"
#include "pipeline/text_formation.h"
#include "pipeline/text_plan.h"
#include "record/descending_record.h"
#include "run/compressed_bytes.h"
#include "run/text_output.h"

namespace xxl {
namespace {

constexpr std::uint64_t kCellBytes = 4 * kMiB;
constexpr std::size_t kFileBufferBytes = 512 * kKiB;  // of an input of -m, two halves
constexpr std::size_t kMinFileBufferBytes = 8 * kKiB;
constexpr std::uint64_t kLittleBytes = kMiB;
constexpr std::uint64_t kMinThreadBytes = 4 * kMiB;

// Compressed files that are merged at a time. They take memory of their own, mostly what the codec
// refers back to: no more than a quarter of -S, unless that is very little.
std::size_t most_decoders(std::uint64_t memory_bytes) {
  constexpr std::uint64_t kUsualDecoderBytes = 8 * kMiB;
  constexpr std::uint64_t kLeastDecoders = 8;
  return static_cast<std::size_t>(std::max(memory_bytes / 4 / kUsualDecoderBytes, kLeastDecoders));
}

// One sort.
class TextSorting {
 public:
  explicit TextSorting(const TextSortOptions& options)
      : options_(options),
        keys_(sorting_keys(options.keys)),
        inputs_(open_text_inputs(options.inputs, options.compressed_by_suffix)) {
    plan_input_.memory_bytes = options.memory_bytes;
    plan_input_.input_bytes = inputs_.bytes;
    plan_input_.size_known = inputs_.size_known;
    plan_input_.temp_codec = options.temp_codec;
    plan_input_.temp_level = options.temp_level;
    plan_input_.temp_program = !options.compress_program.empty();
    plan_input_.output_codec = output_codec();
    // With little memory, fewer threads get more of it each.
    plan_input_.threads = static_cast<unsigned>(std::clamp<std::uint64_t>(
        options.memory_bytes / kMinThreadBytes, 1,
        options.parallel != 0 ? options.parallel : available_processors()));
    plan_input_.keys_are_records =
        !options.keys_of_header && keys_ != nullptr && keys_->is_whole_record();
    if (is_little()) plan_input_.threads = 1;
    while (plan_input_.threads > 1 && !is_enough()) --plan_input_.threads;
    geometry_ = plan_text(plan_input_);
  }

  SortPlan plan() const;
  std::string backend_name() const { return is_little() ? "inline" : make_io()->backend_name(); }
  SortReport run();

 private:
  bool is_enough() const {
    try {
      plan_text(plan_input_);
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  Codec output_codec() const {
    return options_.compressed_by_suffix ? io::codec_of(options_.output) : Codec::none;
  }
  void open_sink();
  bool is_little() const;
  std::unique_ptr<io::IoService> make_io() const;
  TextGeometry divide(std::size_t longest_record);
  TextScratch& scratch();
  void take_header(std::size_t input, std::string_view header);
  void write_header();
  void open_output();
  void sort();
  void merge_files();
  std::vector<MergeSource> reduce(std::vector<MergeSource> sources, BlockMemory& memory);
  std::unique_ptr<TextRun> merge_to_run(std::vector<std::unique_ptr<RecordCursor>> cursors);
  void write_merge(RecordMerge& merge);
  EmitRules output_rules() const;
  void finish();

  const TextSortOptions& options_;
  std::shared_ptr<const KeyExtractor> keys_;
  SortReport report_;
  PhaseMeter meter_{report_, options_.progress};
  TextInputs inputs_;
  TextPlanInput plan_input_;
  TextGeometry geometry_;
  Monitor monitor_;
  MemoryRegion region_;
  std::span<std::byte> region_memory_;
  std::unique_ptr<WriteBuffers> write_buffers_;
  std::vector<CellWorkspace> workspaces_;
  std::unique_ptr<io::IoService> io_;
  std::mutex scratch_mutex_;
  std::unique_ptr<io::ScratchStore> store_;
  std::unique_ptr<TextScratch> scratch_;
  std::optional<std::string> header_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<ByteSink> sink_;
  std::unique_ptr<TextOutput> text_output_;
  std::uint64_t tickets_ = 0;
  std::unique_ptr<Workers> workers_;
  std::vector<std::unique_ptr<TextRun>> runs_;
  std::uint64_t identities_ = std::uint64_t{1} << 32;
  TextTotals totals_;
  MultisetHash input_hash_;
};

SortPlan TextSorting::plan() const {
  SortPlan plan;
  plan.input_bytes = inputs_.bytes;
  plan.input_size_known = inputs_.size_known;
  plan.memory_bytes = options_.memory_bytes;
  plan.sort_memory_bytes = geometry_.regions * geometry_.region_bytes;
  plan.block_bytes = geometry_.block_bytes;
  plan.threads = plan_input_.threads;
  plan.record_kind = options_.syntax.quoted ? "rows" : "lines";
  plan.merge_degree = plan.sort_memory_bytes / 8 * 7 / (2 * geometry_.block_bytes);
  if (options_.batch_size != 0)
    plan.merge_degree = std::min<std::uint64_t>(plan.merge_degree, options_.batch_size);
  const bool in_memory = inputs_.size_known && inputs_.bytes <= plan.sort_memory_bytes / 4 * 3;
  if (options_.merge_only) {
    plan.expected_runs = inputs_.size();
    plan.passes = 1;
  } else if (in_memory) {
    plan.expected_runs = 1;
  } else {
    plan.expected_runs = inputs_.bytes / (geometry_.region_bytes / 5 * 4) + 1;
    plan.passes = 1;
    for (std::uint64_t runs = plan.expected_runs; runs > plan.merge_degree;
         runs = runs / plan.merge_degree + 1)
      ++plan.passes;
    plan.scratch_bytes = inputs_.bytes + inputs_.bytes / 64 + 64 * geometry_.block_bytes;
  }
  return plan;
}

// Divides the memory; everything in it must be free.
TextGeometry TextSorting::divide(std::size_t longest_record) {
  plan_input_.longest_record = longest_record;
  plan_input_.block_bytes = geometry_.block_bytes;  // slots of scratch have one size
  geometry_ = plan_text(plan_input_);
  if (region_.size() < geometry_.memory_bytes) region_ = MemoryRegion(geometry_.memory_bytes);
  Carver carver(region_.span());
  write_buffers_ = std::make_unique<WriteBuffers>(
      carver.take(round_down(geometry_.write_bytes, kSectorBytes)), monitor_);
  workspaces_.clear();
  for (unsigned thread = 0; thread < plan_input_.threads; ++thread) {
    const auto items = [&] {
      return std::span(
          reinterpret_cast<StringItem*>(
              carver.take(round_up(geometry_.item_capacity * sizeof(StringItem), kSectorBytes))
                  .data()),
          geometry_.item_capacity);
    };
    CellWorkspace workspace;
    workspace.items = items();
    workspace.scratch = items();
    workspace.key_memory = carver.take(geometry_.key_bytes);
    workspaces_.push_back(workspace);
  }
  region_memory_ = carver.take(geometry_.regions * geometry_.region_bytes);
  return geometry_;
}

TextScratch& TextSorting::scratch() {
  std::lock_guard lock(scratch_mutex_);
  if (scratch_ == nullptr) {
    store_ = std::make_unique<io::ScratchStore>(options_.scratch_dirs, geometry_.slot_bytes, 1);
    BlockPacker packer;
    if (!options_.compress_program.empty()) {
      packer = BlockPacker(options_.compress_program);
    } else if (options_.temp_codec != Codec::none) {
      packer = BlockPacker(options_.temp_codec, options_.temp_level, geometry_.packed_block_bytes);
    }
    // How much it will be of packed blocks is not known beforehand.
    if (inputs_.size_known && !packer.packs()) store_->reserve(plan().scratch_bytes);
    scratch_ = std::make_unique<TextScratch>(*store_, *io_, monitor_, std::move(packer));
  }
  return *scratch_;
}

void TextSorting::take_header(std::size_t input, std::string_view header) {
  const bool is_row = options_.syntax.quoted;
  const auto content = [&](std::string_view text) {
    return is_row ? without_line_end(text) : text;
  };
  if (!header_) {
    header_ = std::string(header);
    if (options_.keys_of_header) keys_ = sorting_keys(options_.keys_of_header(content(header)));
    return;
  }
  if (options_.keys_of_header && content(*header_) != content(header)) {
    throw Error(ErrorCode::bad_input,
                "the header is not that of the first input: give files with the same columns",
                inputs_[input].file.path(), 0);
  }
}

// The header comes before all records.
void TextSorting::write_header() {
  if (!header_) return;
  const std::string header = options_.header_written ? options_.header_written(*header_) : *header_;
  auto piece = text_output_->begin(tickets_++, header.size() + 1);
  piece.append_record(header, options_.syntax.terminator);
  piece.finish();
}

void TextSorting::open_output() {
  const bool compressed = output_codec() != Codec::none;
  const bool whole = inputs_.size_known && !options_.limit && !options_.unique && !compressed;
  output_ = std::make_unique<Output>(options_.output, whole ? inputs_.bytes + inputs_.size() : 0,
                                     !compressed);
}

// So little is sorted sooner than threads and rings are made.
bool TextSorting::is_little() const {
  return options_.backend == io::Backend::automatic && !options_.queue_factory &&
         inputs_.size_known && inputs_.bytes <= kLittleBytes;
}

std::unique_ptr<io::IoService> TextSorting::make_io() const {
  if (options_.queue_factory) return std::make_unique<io::IoService>(options_.queue_factory);
  if (is_little()) {
    return std::make_unique<io::IoService>([] { return std::make_unique<io::InlineQueue>(); });
  }
  return std::make_unique<io::IoService>(options_.backend, std::span<std::byte>{});
}

SortReport TextSorting::run() {
  report_.plan = plan();
  open_output();
  io_ = make_io();
  report_.plan.backend = is_little() ? "inline" : io_->backend_name();
  inputs_.make_decoders(*io_, monitor_);
  workers_ = std::make_unique<Workers>(plan_input_.threads);
  meter_.watch(*io_, *workers_);
  try {
    options_.merge_only ? merge_files() : sort();
  } catch (const Monitor::Abandoned&) {
    monitor_.check();
    throw;
  }
  finish();
  return report_;
}

// What is written goes here from now on.
void TextSorting::open_sink() {
  const Codec codec = output_codec();
  if (codec != Codec::none) {
    sink_ = std::make_unique<CompressedBytes>(output_->target(), codec, 0,
                                              geometry_.kept_frame_bytes, *io_, monitor_);
  } else if (output_->is_file()) {
    sink_ = std::make_unique<FileBytes>(output_->target(), geometry_.output_block_bytes, *io_,
                                        monitor_);
  } else {
    sink_ = std::make_unique<StreamBytes>(output_->target(), *io_, monitor_);
  }
  text_output_ =
      std::make_unique<TextOutput>(*sink_, *write_buffers_, geometry_.output_block_bytes, monitor_);
}

void TextSorting::sort() {
  meter_.begin(Phase::forming_runs, inputs_.size_known ? inputs_.bytes : 0);
  FormationContext context{
      options_,
      inputs_,
      monitor_,
      *workers_,
      *io_,
      [this](std::size_t longest) { return divide(longest); },
      [this] { return region_memory_; },
      [this]() -> WriteBuffers& { return *write_buffers_; },
      [this](unsigned thread) -> CellWorkspace& { return workspaces_[thread]; },
      [this]() -> TextScratch& { return scratch(); },
      [this](std::size_t input, std::string_view header) { take_header(input, header); },
      [this]() -> const KeyExtractor& { return *keys_; }};
  TextFormation formation(std::move(context));
  formation.run();
  if (keys_ == nullptr) keys_ = std::make_shared<DescendingRecord>();  // no header, no records
  input_hash_ = formation.input_hash();
  totals_.removed += formation.removed_hash();
  report_.skipped = formation.skipped();
  std::vector<MergeSource> sources = formation.sources();
  for (auto& run : formation.take_runs()) runs_.push_back(std::move(run));
  report_.runs = sources.size();
  meter_.end("form runs");

  meter_.begin(Phase::merging, formation.record_bytes());
  BlockMemory memory(monitor_);
  for (const auto span : formation.free_memory()) memory.extents().add(span);
  sources = reduce(std::move(sources), memory);
  open_sink();
  write_header();
  TextMergeOptions merge;
  merge.terminator = options_.syntax.terminator;
  merge.rules = output_rules();
  // Cells whose records have room in a worker's items.
  std::uint64_t cell_bytes = kCellBytes;
  if (input_hash_.records > 0) {
    cell_bytes = std::min<std::uint64_t>(
        cell_bytes,
        geometry_.item_capacity / 2 * (formation.record_bytes() / input_hash_.records + 1));
  }
  cell_bytes = std::min<std::uint64_t>(
      cell_bytes,
      std::max<std::uint64_t>(formation.record_bytes() / (8 * plan_input_.threads), 64 * kKiB));
  cell_bytes = std::max<std::uint64_t>(cell_bytes, 4 * kKiB);
  report_.merge_degree = sources.size();
  report_.passes += runs_.empty() ? 0 : 1;
  {
    TextMerger merger(std::move(sources), *keys_, merge, cell_bytes, workspaces_, memory,
                      scratch_.get(), *text_output_, tickets_, *workers_, monitor_);
    merger.run([this](std::uint64_t bytes) { meter_.advance(bytes); });
    totals_ += merger.totals();
  }
  text_output_->finish();
  meter_.end("merge");
}

// Merges groups of runs to longer runs until the rest can be merged at once.
std::vector<MergeSource> TextSorting::reduce(std::vector<MergeSource> sources,
                                             BlockMemory& memory) {
  const auto cost = [](const MergeSource& source) -> std::size_t {
    return source.run == nullptr ? 0 : 2 * TextScratch::buffer_bytes(source.run->largest_block);
  };
  for (;;) {
    std::size_t needed = 0, in_scratch = 0;
    for (const MergeSource& source : sources) {
      needed += cost(source);
      in_scratch += source.run != nullptr ? 1 : 0;
    }
    const std::size_t most = memory.extents().total_bytes() / 8 * 7;
    const std::size_t batch = options_.batch_size != 0 ? options_.batch_size : ~std::size_t{0};
    if (scratch_ != nullptr) scratch_->wait_for_writes();
    if (in_scratch <= 1 || (needed <= most && in_scratch <= batch)) return sources;
    // As many groups at a time as there are workers; each as large as its share of the memory.
    ++report_.passes;
    std::vector<MergeSource> reduced;
    std::vector<std::vector<MergeSource>> groups;
    const std::size_t share = most / workers_->width();
    // No more than is needed: as even as can be.
    std::size_t degree = batch;
    if (batch != ~std::size_t{0}) {
      unsigned passes = 0;
      for (std::size_t left = in_scratch; left > 1; left = ceil_div(left, batch)) ++passes;
      degree = 2;
      const auto power = [&](std::size_t base) {
        std::size_t reach = 1;
        for (unsigned i = 0; i < passes && reach < in_scratch; ++i) reach *= base;
        return reach;
      };
      while (power(degree) < in_scratch) ++degree;
    }
    for (std::size_t i = 0; i < sources.size();) {
      std::vector<MergeSource> group;
      std::size_t used = 0;
      while (i < sources.size() && sources[i].run != nullptr && group.size() < degree &&
             (group.size() < 2 || used + cost(sources[i]) <= share)) {
        used += cost(sources[i]);
        group.push_back(sources[i++]);
      }
      if (group.empty()) group.push_back(sources[i++]);
      groups.push_back(std::move(group));
    }
    std::vector<std::unique_ptr<TextRun>> merged(groups.size());
    std::size_t running = 0, taken = 0;  // groups, and the memory that they may need
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].size() < 2) continue;
      std::size_t bytes = 0;
      for (const MergeSource& source : groups[g]) bytes += cost(source);
      const bool reads_ahead = bytes <= most;
      {
        // Two runs with long records may need more than a share.
        auto lock = monitor_.lock();
        while (running > 0 && taken + bytes > most) monitor_.wait_whatever(lock);
        ++running;
        taken += bytes;
      }
      workers_->run([&, g, bytes, reads_ahead](unsigned) {
        monitor_.guard([&] {
          std::vector<std::unique_ptr<RecordCursor>> cursors;
          for (const MergeSource& source : groups[g]) {
            cursors.push_back(
                std::make_unique<RunCursor>(*source.run, *scratch_, memory, reads_ahead));
          }
          merged[g] = merge_to_run(std::move(cursors));
          for (const MergeSource& source : groups[g]) {
            for (std::size_t i = 0; i < source.run->blocks.size(); ++i) {
              scratch_->release(*source.run, i);
            }
            *source.run = {};
          }
        });
        auto lock = monitor_.lock();
        --running;
        taken -= bytes;
        monitor_.notify();
      });
    }
    {
      // Whatever happens, the tasks must end before what they use.
      auto lock = monitor_.lock();
      while (running > 0) monitor_.wait_whatever(lock);
    }
    monitor_.check();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (merged[g] == nullptr) {
        reduced.push_back(groups[g].front());
        continue;
      }
      MergeSource source;
      source.run = merged[g].get();
      runs_.push_back(std::move(merged[g]));
      reduced.push_back(source);
    }
    if (reduced.size() == sources.size()) {
      if (needed <= most) return sources;  // runs in memory lie between those of scratch
      throw Error(ErrorCode::no_space,
                  "the memory of -S is too small to merge records this long: give more");
    }
    sources = std::move(reduced);
  }
}

std::unique_ptr<TextRun> TextSorting::merge_to_run(
    std::vector<std::unique_ptr<RecordCursor>> cursors) {
  auto run = std::make_unique<TextRun>();
  TextScratch& target = scratch();
  {
    auto lock = monitor_.lock();
    run->identity = 0x9e3779b97f4a7c15u * ++identities_;
  }
  EmitRules rules = output_rules();
  if (rules.fold) rules = {};  // in the end all records of a group are needed
  rules.hash_written = false;
  RecordMerge merge(std::move(cursors), *keys_, rules.unique);
  TextRunWriter writer(*run, *keys_, target, *write_buffers_, geometry_.block_bytes);
  RecordEmitter emitter(writer, rules);
  while (merge.next() && emitter.add(merge.record(), merge.same_key())) {
  }
  const TextTotals& totals = emitter.finish();
  writer.finish();
  auto lock = monitor_.lock();
  totals_.removed += totals.removed;
  return run;
}

// sort -m.
void TextSorting::merge_files() {
  divide(0);
  meter_.begin(Phase::merging, inputs_.size_known ? inputs_.bytes : 0);
  BlockMemory memory(monitor_);
  const std::span<std::byte> all = region_memory_;
  std::size_t degree = std::max<std::size_t>(
      2, std::min<std::size_t>(options_.batch_size != 0 ? options_.batch_size : ~0u,
                               all.size() / 2 / kMinFileBufferBytes));
  if (inputs_.compressed > 0) degree = std::min(degree, most_decoders(options_.memory_bytes));
  const std::size_t most = std::max<std::size_t>(all.size() / 8, 64 * kKiB);
  const auto open = [&](std::size_t first, std::size_t count) {
    const std::size_t bytes =
        round_down(std::min(kFileBufferBytes, all.size() / 2 / count), 2 * kSectorBytes);
    std::vector<std::unique_ptr<RecordCursor>> cursors;
    for (std::size_t i = 0; i < count; ++i) {
      auto cursor =
          std::make_unique<FileCursor>(inputs_[first + i], options_, all.subspan(i * bytes, bytes),
                                       most, *io_, monitor_, input_hash_, report_.skipped);
      if (options_.syntax.header) {
        if (const auto header = cursor->take_header()) take_header(first + i, *header);
      }
      cursors.push_back(std::move(cursor));
    }
    if (keys_ == nullptr) keys_ = std::make_shared<DescendingRecord>();  // no header, no records
    return cursors;
  };
  report_.runs = inputs_.size();
  open_sink();
  const auto write = [&](RecordMerge& merge) {
    write_header();
    write_merge(merge);
  };
  if (inputs_.size() <= degree) {
    auto cursors = open(0, inputs_.size());
    report_.passes = 1;
    report_.merge_degree = inputs_.size();
    RecordMerge merge(std::move(cursors), *keys_, options_.unique);
    write(merge);
  } else {
    // More files than can be merged at once: groups of them become runs.
    std::vector<MergeSource> sources;
    for (std::size_t first = 0; first < inputs_.size(); first += degree) {
      const std::size_t count = std::min(degree, inputs_.size() - first);
      auto cursors = open(first, count);
      runs_.push_back(merge_to_run(std::move(cursors)));
      MergeSource source;
      source.run = runs_.back().get();
      sources.push_back(source);
    }
    report_.passes = 1;
    memory.extents().add(all);
    sources = reduce(std::move(sources), memory);
    ++report_.passes;
    std::vector<std::unique_ptr<RecordCursor>> cursors;
    for (const MergeSource& source : sources) {
      cursors.push_back(std::make_unique<RunCursor>(*source.run, *scratch_, memory));
    }
    report_.merge_degree = sources.size();
    RecordMerge merge(std::move(cursors), *keys_, options_.unique);
    write(merge);
  }
  text_output_->finish();
  meter_.end("merge");
}

EmitRules TextSorting::output_rules() const {
  EmitRules rules;
  rules.unique = options_.unique;
  rules.fold = options_.fold;
  if (options_.limit) rules.limit = *options_.limit;
  return rules;
}

// Brings all records of `merge` to the output.
void TextSorting::write_merge(RecordMerge& merge) {
  PieceWriter writer(text_output_->begin_open_ended(tickets_++), options_.syntax.terminator);
  RecordEmitter emitter(writer, output_rules());
  while (merge.next() && emitter.add(merge.record(), merge.same_key())) {
    meter_.advance(merge.record().size() + 1);
  }
  totals_ += emitter.finish();
  writer.finish();
}

void TextSorting::finish() {
  meter_.begin(Phase::finishing, 0);
  monitor_.check();
  if (options_.limit && !options_.unique &&
      totals_.records_out != std::min(*options_.limit, input_hash_.records)) {
    throw Error(ErrorCode::corrupt,
                "records were lost on the way: the output was discarded; check "
                "this machine's memory and disks");
  }
  if (!options_.limit) {
    MultisetHash accounted = totals_.written;
    accounted += totals_.removed;
    check_permutation(input_hash_, accounted);
  }
  output_->publish(sink_->file_bytes(text_output_->bytes()));
  meter_.end("finish");
  report_.records_in = input_hash_.records;
  report_.records_out = totals_.records_out;
  report_.checksum = totals_.written.sum;
  meter_.finish(store_.get());
}

}  // namespace

SortReport text_sort(const TextSortOptions& options) {
  return TextSorting(options).run();
}

SortPlan plan_text_sort(const TextSortOptions& options) {
  TextSorting sorting(options);
  SortPlan plan = sorting.plan();
  plan.backend = sorting.backend_name();
  return plan;
}

}  // namespace xxl
