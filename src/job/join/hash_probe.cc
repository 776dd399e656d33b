#include "job/join/hash_probe.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/task.h"
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

WaitTimes HashProbe::probe(ProbeInput& input, const ProbeWants& wants) {
  return run(
      [this, wants](Morsel& morsel, std::span<HashMatch> out) {
        return c_.table.probe(morsel.piece.records, morsel.piece.count, wants, morsel.progress,
                              out);
      },
      [&] {
        const auto piece = input.next(morsel_records());
        if (!piece) return MorselPointer();
        auto morsel = std::make_shared<Morsel>();
        morsel->piece = *piece;
        return morsel;
      },
      &input);
}

WaitTimes HashProbe::write_build_side(bool matched, std::span<const RecordNumbers> numbers) {
  std::size_t done = 0;  // of numbers.front()
  return run(
      [this, matched](Morsel& morsel, std::span<HashMatch> out) {
        std::size_t record = morsel.first + morsel.progress.records;
        const std::size_t listed =
            c_.table.select(matched, record, morsel.first + morsel.piece.count, out);
        morsel.progress.records = record - morsel.first;
        return listed;
      },
      [&] {
        while (!numbers.empty() && done == numbers.front().count) {
          numbers = numbers.subspan(1);
          done = 0;
        }
        if (numbers.empty()) return MorselPointer();
        auto morsel = std::make_shared<Morsel>();
        morsel->first = numbers.front().first + done;
        morsel->piece.count = std::min(kMaxMorselRecords, numbers.front().count - done);
        done += morsel->piece.count;
        return morsel;
      },
      nullptr);
}

WaitTimes HashProbe::run(const Lister& lister, const Source& next, ProbeInput* input) {
  using Clock = std::chrono::steady_clock;
  lister_ = lister;
  input_ = input;
  WaitTimes waits = c_.meter.no_waits();
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
    if (morsels_.empty() && running_ == 0 && (input == nullptr || input->ended())) return waits;
    const bool idle = running_ == 0 && (input == nullptr || !input->busy());
    const auto start = Clock::now();
    c_.mailbox.wait_and_run();
    if (idle) output_full_ ? waits.add_write(start) : waits.add_read(start);
  }
}

// As many records as have matches for about one list.
std::size_t HashProbe::morsel_records() const {
  const std::uint64_t rows_per_record = (rows_ + rows_ / 4) / std::max<std::uint64_t>(probed_, 1);
  return std::clamp(c_.list_matches / static_cast<std::size_t>(rows_per_record + 1),
                    kMinMorselRecords, kMaxMorselRecords);
}

void HashProbe::start_listing(const MorselPointer& morsel) {
  morsel->list = free_lists_.back();
  free_lists_.pop_back();
  ++running_;
  run_task(c_.workers, c_.mailbox, in_flight_, [this, morsel](unsigned) {
    const ProbeProgress before = morsel->progress;
    const std::span out(morsel->list, c_.list_matches);
    std::uint64_t listed = 0;
    do {
      listed += lister_(*morsel, out);
    } while (c_.output == nullptr && morsel->progress.records < morsel->piece.count);
    c_.mailbox.post([this, morsel, before, listed] {
      --running_;
      morsel->listed = listed;
      morsel->ready = true;
      rows_ += listed;
      matched_ += morsel->progress.matched - before.matched;
      if (input_ != nullptr) probed_ += morsel->progress.records - before.records;
    });
  });
}

// Starts writing the lists whose turn it is.
void HashProbe::write_ready() {
  output_full_ = false;
  while (!morsels_.empty() && morsels_.front()->ready) {
    const MorselPointer morsel = morsels_.front();
    const bool has_rows = c_.output != nullptr && morsel->listed > 0;
    std::optional<OutputStage::Admission> place;
    if (has_rows) {
      place = c_.output->admit(morsel->listed * c_.rows.row_bytes());
      output_full_ = !place;
      if (!place) return;
    }
    morsels_.pop_front();
    if (morsel->progress.records < morsel->piece.count) {  // to be continued
      auto rest = std::make_shared<Morsel>();
      rest->piece = morsel->piece;
      rest->first = morsel->first;
      rest->progress = morsel->progress;
      if (input_ != nullptr) input_->again(rest->piece);
      morsels_.push_front(std::move(rest));
    }
    if (has_rows) {
      start_writing(morsel, std::move(*place));
    } else {
      done_with(*morsel);
    }
  }
}

void HashProbe::start_writing(const MorselPointer& morsel, OutputStage::Admission place) {
  ++running_;
  run_task(c_.workers, c_.mailbox, in_flight_,
           [this, morsel, place = std::move(place)](unsigned) mutable {
             const HashedRows rows(c_.rows, c_.sides, morsel->piece.records,
                                   {morsel->list, static_cast<std::size_t>(morsel->listed)});
             c_.output->emit(std::move(place), rows);
             c_.mailbox.post([this, morsel] {
               --running_;
               done_with(*morsel);
             });
           });
}

void HashProbe::done_with(const Morsel& morsel) {
  free_lists_.push_back(morsel.list);
  if (input_ != nullptr) input_->done(morsel.piece);
}

}  // namespace xxl
