#include "engine/join/hash_probe.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "sort/piece_sorter.h"

namespace xxl {
namespace {

// Records of a morsel: enough to hide the cost of a task. Fewer where each has many matches.
constexpr std::size_t kMaxMorselRecords = 8192;
constexpr std::size_t kMinMorselRecords = 64;

// The rows of a list of matches.
class HashedRows final : public RecordSource {
 public:
  HashedRows(const RowLayout& rows, const HashSides& sides, const std::byte* probe_records,
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
      [this, wants](Morsel& morsel, std::span<HashMatch> out) {
        return c_.table.probe(records_of(morsel), morsel.records, wants, morsel.progress, out);
      },
      [&] { return cut_block(reader); }, [&] { return reader.finished() && blocks_.empty(); });
  return waits;
}

WaitTimes HashProbe::write_build_side(bool matched, std::size_t records) {
  std::size_t next = 0;
  return run(
      [this, matched](Morsel& morsel, std::span<HashMatch> out) {
        std::size_t record = morsel.first + morsel.progress.records;
        const std::size_t listed =
            c_.table.select(matched, record, morsel.first + morsel.records, out);
        morsel.progress.records = record - morsel.first;
        return listed;
      },
      [&] {
        MorselPointer morsel;
        if (next < records) {
          morsel = std::make_shared<Morsel>();
          morsel->first = next;
          morsel->records = std::min(kMaxMorselRecords, records - next);
          next += morsel->records;
        }
        return morsel;
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
    // In order: a later morsel must not take what the first one waits for.
    for (const MorselPointer& morsel : morsels_) {
      if (free_lists_.empty()) break;
      if (morsel->list == nullptr) start_listing(morsel);
    }
    while (!free_lists_.empty()) {
      const MorselPointer morsel = next();
      if (morsel == nullptr) break;
      morsels_.push_back(morsel);
      start_listing(morsel);
    }
    if (morsels_.empty() && running_ == 0 && ended()) return waits;
    const bool idle = running_ == 0;
    const auto start = Clock::now();
    c_.mailbox.wait_and_run();
    if (idle) {
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      (output_full_ ? waits.write_seconds : waits.read_seconds) += seconds;
    }
  }
}

// The next morsel of the input, if it has been read.
HashProbe::MorselPointer HashProbe::cut_block(io::SequentialReader& reader) {
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
    blocks_.push_back(std::make_unique<ProbeBlock>(ProbeBlock{*block, records}));
  }
  ProbeBlock& block = *blocks_.back();
  auto morsel = std::make_shared<Morsel>();
  morsel->block = &block;
  morsel->first = block.cut;
  morsel->records = std::min(morsel_records(), block.records - block.cut);
  block.cut += morsel->records;
  ++block.uses;
  return morsel;
}

// Returns blocks that are no longer needed to the reader.
void HashProbe::release(io::SequentialReader& reader) {
  std::erase_if(blocks_, [&](const std::unique_ptr<ProbeBlock>& block) {
    if (block->uses > 0 || block->cut < block->records) return false;
    c_.meter.advance(block->block.records.size());
    reader.release(block->block);
    return true;
  });
}

// As many records as have matches for about one list.
std::size_t HashProbe::morsel_records() const {
  const std::uint64_t rows_per_record = (rows_ + rows_ / 4) / std::max<std::uint64_t>(probed_, 1);
  return std::clamp(c_.list_matches / static_cast<std::size_t>(rows_per_record + 1),
                    kMinMorselRecords, kMaxMorselRecords);
}

const std::byte* HashProbe::records_of(const Morsel& morsel) const {
  if (morsel.block == nullptr) return nullptr;
  return morsel.block->block.records.data() + morsel.first * c_.sides.probe_record_bytes;
}

void HashProbe::start_listing(const MorselPointer& morsel) {
  morsel->list = free_lists_.back();
  free_lists_.pop_back();
  ++running_;
  c_.workers.run([this, morsel, token = in_flight_.begin()](unsigned) mutable {
    const ProbeProgress before = morsel->progress;
    const std::span out(morsel->list, c_.list_matches);
    std::uint64_t listed = 0;
    do {
      listed += lister_(*morsel, out);
    } while (c_.output == nullptr && morsel->progress.records < morsel->records);
    c_.mailbox.post([this, morsel, before, listed] {
      --running_;
      morsel->listed = listed;
      morsel->ready = true;
      rows_ += listed;
      matched_ += morsel->progress.matched - before.matched;
      if (morsel->block != nullptr) probed_ += morsel->progress.records - before.records;
    });
    token.reset();
  });
}

// Starts writing the lists whose turn it is.
void HashProbe::write_ready() {
  output_full_ = false;
  while (!morsels_.empty() && morsels_.front()->ready) {
    const MorselPointer morsel = morsels_.front();
    const bool has_rows = c_.output != nullptr && morsel->listed > 0;
    if (has_rows && !c_.output->admit(morsel->listed * c_.rows.row_bytes())) {
      output_full_ = true;
      return;
    }
    morsels_.pop_front();
    if (morsel->progress.records < morsel->records) {  // to be continued
      auto rest = std::make_shared<Morsel>();
      rest->block = morsel->block;
      rest->first = morsel->first;
      rest->records = morsel->records;
      rest->progress = morsel->progress;
      if (rest->block != nullptr) ++rest->block->uses;
      morsels_.push_front(std::move(rest));
    }
    if (has_rows) {
      start_writing(morsel);
    } else {
      done_with(*morsel);
    }
  }
}

void HashProbe::start_writing(const MorselPointer& morsel) {
  ++running_;
  c_.workers.run([this, morsel, ticket = tickets_++, token = in_flight_.begin()](unsigned) mutable {
    const HashedRows rows(c_.rows, c_.sides, records_of(*morsel),
                          {morsel->list, static_cast<std::size_t>(morsel->listed)});
    c_.output->emit(ticket, rows.size() * c_.rows.row_bytes(), rows);
    c_.mailbox.post([this, morsel] {
      --running_;
      done_with(*morsel);
    });
    token.reset();
  });
}

void HashProbe::done_with(const Morsel& morsel) {
  free_lists_.push_back(morsel.list);
  if (morsel.block != nullptr) --morsel.block->uses;
}

}  // namespace xxl
