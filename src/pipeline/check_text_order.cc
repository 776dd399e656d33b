// sort -c for text: chunks of the input are checked by the workers, and where chunks meet by the
// coordinator.
#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "base/workers.h"
#include "pipeline/text_reader.h"
#include "pipeline/text_sort.h"
#include "record/descending_record.h"
#include "record/text_records.h"

namespace xxl {
namespace {

constexpr std::size_t kRegionBytes = 4 * kMiB;
constexpr std::uint64_t kMinThreadBytes = 16 * kMiB;

// What a chunk is found to be.
struct ChunkOrder {
  bool done = false;
  std::uint64_t records = 0;  // up to the first that is out of order
  std::string first_key;
  std::string last_key;
  std::string first_record;
  std::optional<std::string> disorder;  // the first record out of order
};

class TextOrderChecking {
 public:
  explicit TextOrderChecking(const TextSortOptions& options)
      : options_(options),
        keys_(sorting_keys(options.keys)),
        inputs_(open_text_inputs({options.inputs.empty() ? "-" : options.inputs.front()},
                                 options.compressed_by_suffix)),
        io_(options.backend, {}),
        threads_(static_cast<unsigned>(std::clamp<std::uint64_t>(
            options.memory_bytes / kMinThreadBytes, 1,
            options.parallel != 0 ? options.parallel : available_processors()))),
        workers_(threads_) {
    inputs_.make_decoders(io_, monitor_);
  }

  TextOrderCheck run() {
    try {
      return check();
    } catch (const Monitor::Abandoned&) {
      monitor_.check();
      throw;
    }
  }

 private:
  struct Chunk {
    TextRegion region;
    ChunkOrder order;
  };

  TextOrderCheck check() {
    TextReader reader(inputs_, options_.syntax, io_, monitor_,
                      [this](std::size_t, std::string_view header) {
                        if (options_.keys_of_header) {
                          keys_ = sorting_keys(options_.keys_of_header(header));
                        }
                      });
    make_regions(kRegionBytes);
    while (!reader.finished()) {
      if (free_.empty() && !settle()) return result_;
      std::unique_ptr<Chunk> chunk = std::move(free_.back());
      free_.pop_back();
      reader.start(chunk->region, chunk->region.bytes);
      if (!reader.finish(chunk->region, false)) {
        // A record does not fit: larger regions, up to what -S allows.
        while (!running_.empty()) {
          if (!settle()) return result_;
        }
        const std::size_t wanted =
            round_up(2 * std::max(chunk->region.bytes, reader.carried_bytes()), kSectorBytes);
        if (wanted > std::max<std::uint64_t>(options_.memory_bytes / 3, kRegionBytes)) {
          throw Error(ErrorCode::no_space,
                      "a record is longer than " + format_bytes(reader.carried_bytes()) +
                          ", too long for the memory of -S: give more",
                      inputs_[reader.carried_input()].file.path(), reader.carried_offset());
        }
        make_regions(wanted);
        continue;
      }
      if (chunk->region.segments.empty()) {
        free_.push_back(std::move(chunk));
      } else {
        submit(std::move(chunk));
      }
    }
    while (!running_.empty()) {
      if (!settle()) return result_;
    }
    return result_;
  }

  void make_regions(std::size_t bytes) {
    const std::size_t most = static_cast<std::size_t>(
        std::max<std::uint64_t>(options_.memory_bytes, kRegionBytes) / bytes);
    const std::size_t regions = std::clamp<std::size_t>(most, 1, 2 * threads_);
    free_.clear();
    memory_ = MemoryRegion(regions * bytes);
    for (std::size_t i = 0; i < regions; ++i) {
      auto chunk = std::make_unique<Chunk>();
      chunk->region.memory = memory_.data() + i * bytes;
      chunk->region.bytes = bytes;
      free_.push_back(std::move(chunk));
    }
  }

  void submit(std::unique_ptr<Chunk> chunk) {
    chunk->order = {};
    running_.push_back(std::move(chunk));
    workers_.run(
        [this, task = running_.back().get(), token = in_flight_.begin()](unsigned) mutable {
          monitor_.guard([&] { check_chunk(*task); });
          {
            auto lock = monitor_.lock();
            task->order.done = true;
          }
          monitor_.notify();
          token.reset();
        });
  }

  bool is_disorder(std::string_view before, std::string_view key) const {
    return options_.unique ? before >= key : before > key;
  }

  void check_chunk(Chunk& chunk) {
    ChunkOrder& order = chunk.order;
    std::string made[2];  // the keys of a record and of the one before
    std::string_view before;
    for (const TextSegment& segment : chunk.region.segments) {
      visit_records(segment.text, options_.syntax, [&](std::string_view record) {
        if (options_.malformed) {
          if (const auto fault = options_.malformed(record)) {
            if (options_.syntax.skip_malformed) return true;
            throw_malformed(segment, record, options_.syntax, *fault,
                            inputs_[segment.input].file.path());
          }
        }
        const std::string_view key =
            key_of(*keys_, record, KeyExtractor::kWholeKey, made[order.records % 2]);
        if (order.records == 0) {
          order.first_key = key;
          order.first_record = record;
        } else if (is_disorder(before, key)) {
          order.disorder = std::string(record);
          return false;
        }
        before = key;
        ++order.records;
        return true;
      });
      if (order.disorder) break;
    }
    order.last_key = before;
  }

  // Takes the oldest chunk. False if a record is out of order.
  bool settle() {
    {
      auto lock = monitor_.lock();
      monitor_.wait(lock, [&] { return running_.front()->order.done; });
    }
    std::unique_ptr<Chunk> chunk = std::move(running_.front());
    running_.pop_front();
    monitor_.check();
    ChunkOrder& order = chunk->order;
    if (order.records > 0) {
      if (last_key_ && is_disorder(*last_key_, order.first_key)) {
        result_ = {false, records_, order.first_record};
        return false;
      }
      records_ += order.records;
      last_key_ = std::move(order.last_key);
    }
    if (order.disorder) {
      result_ = {false, records_, *order.disorder};
      return false;
    }
    free_.push_back(std::move(chunk));
    return true;
  }

  const TextSortOptions& options_;
  std::shared_ptr<const KeyExtractor> keys_;
  TextInputs inputs_;
  MemoryRegion memory_;
  std::vector<std::unique_ptr<Chunk>> free_;
  std::deque<std::unique_ptr<Chunk>> running_;
  std::optional<std::string> last_key_;
  std::uint64_t records_ = 0;
  TextOrderCheck result_;
  Monitor monitor_;
  io::IoService io_;
  unsigned threads_;
  Workers workers_;
  InFlight in_flight_;
};

}  // namespace

TextOrderCheck check_text_order(const TextSortOptions& options) {
  return TextOrderChecking(options).run();
}

}  // namespace xxl
