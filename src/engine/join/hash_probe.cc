#include "engine/join/hash_probe.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "sort/piece_sorter.h"

namespace xxl {
namespace {

// Records of a stretch: enough for the cost of a task not to show. Fewer where each has many
// matches.
constexpr std::size_t kMaxStretchRecords = 8192;
constexpr std::size_t kMinStretchRecords = 64;

// The rows of a list of matches.
class MatchRows final : public RecordSource {
 public:
  MatchRows(const RowLayout& rows, const HashSides& sides, const std::byte* probe_records,
            std::span<const HashMatch> matches)
      : rows_(rows), sides_(sides), probe_records_(probe_records), matches_(matches) {}

  std::size_t size() const override { return matches_.size(); }
  void write(std::size_t first, std::size_t count, std::byte* out) const override {
    rows_.write_each(
        count,
        [this, matches = matches_.data() + first](std::size_t i) {
          return sides_.records_of(matches[i], probe_records_);
        },
        out);
  }

 private:
  const RowLayout& rows_;
  const HashSides& sides_;
  const std::byte* probe_records_;
  std::span<const HashMatch> matches_;
};

}  // namespace

HashProbe::HashProbe(const Context& context) : c_(context) {
  XXL_CHECK(c_.list_matches > 0 && c_.lists.size() >= 2 * c_.list_matches);
  for (std::size_t at = 0; at + c_.list_matches <= c_.lists.size(); at += c_.list_matches) {
    free_lists_.push_back(c_.lists.data() + at);
  }
}

WaitTimes HashProbe::probe(io::SequentialReader& reader, const ProbeWants& wants) {
  const WaitTimes waits = run(
      [this, wants](Stretch& stretch, std::span<HashMatch> out) {
        return c_.table.probe(records_of(stretch), stretch.records, wants, stretch.progress, out);
      },
      [&] { return cut_block(reader); }, [&] { return reader.finished() && blocks_.empty(); });
  return waits;
}

WaitTimes HashProbe::write_build_side(bool matched, std::size_t records) {
  std::size_t next = 0;
  return run(
      [this, matched](Stretch& stretch, std::span<HashMatch> out) {
        std::size_t record = stretch.first + stretch.progress.records;
        const std::size_t listed =
            c_.table.select(matched, record, stretch.first + stretch.records, out);
        stretch.progress.records = record - stretch.first;
        return listed;
      },
      [&] {
        StretchPointer stretch;
        if (next < records) {
          stretch = std::make_shared<Stretch>();
          stretch->first = next;
          stretch->records = std::min(kMaxStretchRecords, records - next);
          next += stretch->records;
        }
        return stretch;
      },
      [&] { return next == records; });
}

WaitTimes HashProbe::run(const Lister& lister, const Source& next,
                         const std::function<bool()>& ended) {
  using Clock = std::chrono::steady_clock;
  lister_ = lister;
  WaitTimes waits;
  for (;;) {
    write_ready();
    // In order: what the first stretch waits for must not be given to a later one.
    for (const StretchPointer& stretch : stretches_) {
      if (free_lists_.empty()) break;
      if (stretch->list == nullptr) start_listing(stretch);
    }
    while (!free_lists_.empty()) {
      const StretchPointer stretch = next();
      if (stretch == nullptr) break;
      stretches_.push_back(stretch);
      start_listing(stretch);
    }
    if (stretches_.empty() && running_ == 0 && ended()) return waits;
    const bool idle = running_ == 0;
    const auto start = Clock::now();
    c_.mailbox.wait_and_run();
    if (idle) {
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      (output_full_ ? waits.write_seconds : waits.read_seconds) += seconds;
    }
  }
}

// The next stretch of the input, if it has been read.
HashProbe::StretchPointer HashProbe::cut_block(io::SequentialReader& reader) {
  release(reader);
  reader.pump();
  while (blocks_.empty() || blocks_.back()->cut == blocks_.back()->records) {
    const auto block = reader.next();
    if (!block) return nullptr;
    const std::size_t records = block->records.size() / c_.sides.probe_record_bytes;
    if (records == 0) {
      reader.release(*block);
      reader.pump();
      continue;
    }
    blocks_.push_back(std::make_unique<Block>(Block{*block, records}));
  }
  Block& block = *blocks_.back();
  auto stretch = std::make_shared<Stretch>();
  stretch->block = &block;
  stretch->first = block.cut;
  stretch->records = std::min(stretch_records(), block.records - block.cut);
  block.cut += stretch->records;
  ++block.uses;
  return stretch;
}

// Gives blocks back to the reader that nobody needs any more.
void HashProbe::release(io::SequentialReader& reader) {
  std::erase_if(blocks_, [&](const std::unique_ptr<Block>& block) {
    if (block->uses > 0 || block->cut < block->records) return false;
    c_.meter.advance(block->block.records.size());
    reader.release(block->block);
    return true;
  });
}

// So many records that their matches may be expected to fit a list.
std::size_t HashProbe::stretch_records() const {
  const std::uint64_t rows_per_record = (rows_ + rows_ / 4) / std::max<std::uint64_t>(probed_, 1);
  return std::clamp(c_.list_matches / static_cast<std::size_t>(rows_per_record + 1),
                    kMinStretchRecords, kMaxStretchRecords);
}

const std::byte* HashProbe::records_of(const Stretch& stretch) const {
  if (stretch.block == nullptr) return nullptr;
  return stretch.block->block.records.data() + stretch.first * c_.sides.probe_record_bytes;
}

void HashProbe::start_listing(const StretchPointer& stretch) {
  stretch->list = free_lists_.back();
  free_lists_.pop_back();
  ++running_;
  c_.workers.run([this, stretch, token = in_flight_.begin()](unsigned) mutable {
    const ProbeProgress before = stretch->progress;
    const std::span out(stretch->list, c_.list_matches);
    std::uint64_t listed = 0;
    do {
      listed += lister_(*stretch, out);
    } while (c_.output == nullptr && stretch->progress.records < stretch->records);
    c_.mailbox.post([this, stretch, before, listed] {
      --running_;
      stretch->listed = listed;
      stretch->ready = true;
      rows_ += listed;
      matched_ += stretch->progress.matched - before.matched;
      if (stretch->block != nullptr) probed_ += stretch->progress.records - before.records;
    });
    token.reset();
  });
}

// Has the lists written whose turn it is.
void HashProbe::write_ready() {
  output_full_ = false;
  while (!stretches_.empty() && stretches_.front()->ready) {
    const StretchPointer stretch = stretches_.front();
    const bool has_rows = c_.output != nullptr && stretch->listed > 0;
    if (has_rows && !c_.output->admit(stretch->listed * c_.rows.row_bytes())) {
      output_full_ = true;
      return;
    }
    stretches_.pop_front();
    if (stretch->progress.records < stretch->records) {  // to be continued
      auto rest = std::make_shared<Stretch>();
      rest->block = stretch->block;
      rest->first = stretch->first;
      rest->records = stretch->records;
      rest->progress = stretch->progress;
      if (rest->block != nullptr) ++rest->block->uses;
      stretches_.push_front(std::move(rest));
    }
    if (has_rows) {
      start_writing(stretch);
    } else {
      done_with(*stretch);
    }
  }
}

void HashProbe::start_writing(const StretchPointer& stretch) {
  ++running_;
  c_.workers.run(
      [this, stretch, ticket = tickets_++, token = in_flight_.begin()](unsigned) mutable {
        const MatchRows rows(c_.rows, c_.sides, records_of(*stretch),
                             {stretch->list, static_cast<std::size_t>(stretch->listed)});
        c_.output->emit(ticket, rows.size() * c_.rows.row_bytes(), rows);
        c_.mailbox.post([this, stretch] {
          --running_;
          done_with(*stretch);
        });
        token.reset();
      });
}

void HashProbe::done_with(const Stretch& stretch) {
  free_lists_.push_back(stretch.list);
  if (stretch.block != nullptr) --stretch.block->uses;
}

}  // namespace xxl
