// sort -c for text: chunks of the input are checked by the workers, the seams between them by the
// coordinator.
#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "base/workers.h"
#include "job/general_sort/general_reader.h"
#include "job/general_sort/general_sort.h"
#include "job/general_sort/long_records.h"
#include "job/phase_meter.h"
#include "record/descending_record.h"
#include "record/record_key.h"

namespace xxl {
namespace {

constexpr std::size_t kCheckRegionBytes = 4 * kMiB;
constexpr std::uint64_t kMinCheckerBytes = 16 * kMiB;
constexpr std::size_t kMostCopiedBytes = kMiB;  // of a record, beside the memory

// What was found in a chunk.
struct ChunkOrder {
  bool done = false;
  std::uint64_t records = 0;  // up to the first that is out of order
  MultisetHash sum;           // of these, if it is wanted
  std::string_view first_record;
  std::string_view last_record;
  std::optional<std::string_view> disorder;  // the first record out of order
  std::exception_ptr failure;                // of what comes after these records
};

class OrderChecking {
 public:
  explicit OrderChecking(const GeneralSortOptions& options)
      : OrderChecking(options,
                      open_general_inputs({options.inputs.empty() ? "-" : options.inputs.front()},
                                          options.syntax, options.compressed_by_suffix),
                      {}, nullptr) {}
  // `memory`: in place of some of its own. `sum`, unless it is null, gets the records that are in
  // order.
  OrderChecking(const GeneralSortOptions& options, Inputs inputs, std::span<std::byte> memory,
                MultisetHash* sum)
      : options_(options),
        keys_(sorting_keys(options.keys)),
        inputs_(std::move(inputs)),
        memory_(memory),
        sum_(sum),
        io_(options.backend, {}),
        memory_bytes_(memory_beside_decoder()),
        threads_(static_cast<unsigned>(std::clamp<std::uint64_t>(memory_bytes_ / kMinCheckerBytes,
                                                                 1, options.thread_count()))),
        workers_(threads_) {
    only_file(inputs_);
  }

  OrderCheck run() {
    return monitor_.run([this] { return check(); });
  }

 private:
  struct CheckedRegion {
    Region region;
    ChunkOrder order;
  };

  std::uint64_t memory_beside_decoder() const {
    if (!memory_.empty()) return memory_.size();
    const std::uint64_t given = options_.memory_bytes;
    const std::uint64_t decoder = inputs_.set_aside_for_decoders(given, false);
    if (decoder > 0 && decoder + kCheckRegionBytes > given) {
      inputs_.refuse_decoders(given, decoder + kCheckRegionBytes);
    }
    return given - decoder;
  }

  OrderCheck check() {
    GeneralReader reader(inputs_, options_.syntax, io_, monitor_,
                         [this](std::size_t, std::string_view header) {
                           if (options_.keys_of_header) {
                             keys_ = sorting_keys(options_.keys_of_header(header));
                           }
                         });
    make_regions();
    while (!reader.finished()) {
      while (free_.empty() && !running_.empty()) {
        if (!settle()) return result_;
      }
      if (free_.empty()) use_all_memory(std::make_unique<CheckedRegion>(), reader);
      std::unique_ptr<CheckedRegion> chunk = std::move(free_.back());
      free_.pop_back();
      reader.start(chunk->region, chunk->region.bytes);
      if (!reader.finish(chunk->region)) {
        // A record does not fit: one region, of all the memory.
        while (!running_.empty()) {
          if (!settle()) return result_;
        }
        use_all_memory(std::move(chunk), reader);
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

  void make_regions() {
    if (memory_.empty()) {
      own_memory_ = MemoryRegion(round_down(
          static_cast<std::size_t>(std::max<std::uint64_t>(memory_bytes_, kCheckRegionBytes)),
          kSectorBytes));
      memory_ = own_memory_.span();
    }
    const std::size_t regions =
        std::clamp<std::size_t>(memory_.size() / kCheckRegionBytes, 1, 2 * threads_ + 1);
    for (std::size_t i = 0; i < regions; ++i) {
      auto chunk = std::make_unique<CheckedRegion>();
      chunk->region.memory = memory_.data() + i * kCheckRegionBytes;
      chunk->region.bytes = kCheckRegionBytes;
      free_.push_back(std::move(chunk));
    }
  }

  // Makes all the memory one region, `chunk`'s, but for the last record so far, which moves to the
  // front. The beginning of the next record, which lies before the last one now, is to follow it
  // there.
  void use_all_memory(std::unique_ptr<CheckedRegion> chunk, GeneralReader& reader) {
    const std::size_t carried = reader.carried_bytes();
    const std::size_t before = chunk->region.bytes;
    std::size_t kept = 0;
    if (last_ != nullptr) {
      std::string_view& record = last_->order.last_record;
      std::string copy;  // of a record that the other one is in the way of
      if (reader.carry() < record.data() && record.size() <= kMostCopiedBytes &&
          carried + round_up(record.size(), kSectorBytes) <= memory_.size()) {
        copy = record;
        reader.move_carry(memory_.data() + round_up(copy.size(), kSectorBytes));
        record = copy;
      } else if (reader.carry() < record.data()) {
        reader.move_carry(memory_.data());
        kept = round_up(carried, kSectorBytes);
      }
      std::byte* const to = memory_.data() + kept;
      std::memmove(to, record.data(), record.size());
      record = {reinterpret_cast<const char*>(to), record.size()};
      kept += round_up(record.size(), kSectorBytes);
      last_->region.bytes = 0;  // is part of the one region
    }
    chunk->region.memory = memory_.data() + kept;
    chunk->region.bytes = memory_.size() - std::min(memory_.size(), kept);
    if (chunk->region.bytes <= std::max(before, carried + 2 * kSectorBytes)) {
      refuse_carried(reader, kept);
    }
    free_.clear();
    free_.push_back(std::move(chunk));
  }

  // What is kept, `kept` bytes, and the record that does not fit must be held at the same time.
  [[noreturn]] void refuse_carried(const GeneralReader& reader, std::size_t kept) {
    RecordLengths lengths(options_.syntax);
    lengths.add({reader.carry(), reader.carried_bytes()});
    read_on(inputs_, reader.next_input(), reader.next_position(), options_.stop, lengths);
    const std::uint64_t given = options_.memory_bytes, longest = lengths.longest()[0];
    const std::uint64_t held =
        longest + std::max<std::uint64_t>(kept, lengths.longest()[1]) + 8 * kSectorBytes;
    const LongRecordError error(
        too_long(lengths.first(), longest, given, reader.open_quote_of_carry()), {},
        inputs_.files[reader.carried_input()].path(), reader.carried_offset());
    error.rethrow(memory_advice(least_memory(given + 1, [&](std::uint64_t memory) {
      return memory - (given - memory_bytes_) >= held;
    })));
  }

  void submit(std::unique_ptr<CheckedRegion> chunk) {
    chunk->order = {};
    running_.push_back(std::move(chunk));
    workers_.run(
        [this, task = running_.back().get(), token = in_flight_.begin()](unsigned) mutable {
          try {
            check_chunk(*task);
          } catch (...) {
            task->order.failure = std::current_exception();
          }
          monitor_.change([&] { task->order.done = true; });
          token.reset();
        });
  }

  bool is_disorder(const RecordKey& before, const RecordKey& key) const {
    return before.compare(key) >= (options_.unique ? 0 : 1);
  }
  bool is_disorder(std::string_view before, std::string_view record) const {
    RecordKey keys[2];
    keys[0].set(*keys_, before);
    keys[1].set(*keys_, record);
    return is_disorder(keys[0], keys[1]);
  }

  void check_chunk(CheckedRegion& chunk) {
    ChunkOrder& order = chunk.order;
    RecordKey keys[2];  // of a record and of the one before
    for (const GeneralSegment& segment : chunk.region.segments) {
      visit_segment(segment, 0, options_.syntax, [&](std::string_view record) {
        if (options_.malformed) {
          if (const auto fault = options_.malformed(record)) {
            if (fault->fate == RecordFault::Fate::skip) return true;
            if (fault->fate == RecordFault::Fate::error) {
              throw_malformed(segment, record, options_.syntax, fault->what,
                              inputs_.files[segment.input].path());
            }
          }
        }
        RecordKey& key = keys[order.records % 2];
        key.set(*keys_, record);
        if (order.records == 0) {
          order.first_record = record;
        } else if (is_disorder(keys[1 - order.records % 2], key)) {
          order.disorder = record;
          return false;
        }
        order.last_record = record;
        ++order.records;
        if (sum_ != nullptr) add_record(order.sum, record);
        return true;
      });
      if (order.disorder) break;
    }
  }

  // Takes the oldest chunk, which then stays until there is a record after its last. False if a
  // record is out of order.
  bool settle() {
    monitor_.wait([&] { return running_.front()->order.done; });
    std::unique_ptr<CheckedRegion> chunk = std::move(running_.front());
    running_.pop_front();
    monitor_.check();
    ChunkOrder& order = chunk->order;
    if (order.records > 0) {
      if (last_ && is_disorder(last_->order.last_record, order.first_record)) {
        set_result(order.first_record);
        return false;
      }
      records_ += order.records;
      if (sum_ != nullptr) *sum_ += order.sum;
    }
    if (order.failure) std::rethrow_exception(order.failure);
    if (order.disorder) {
      set_result(*order.disorder);
      return false;
    }
    if (order.records > 0) std::swap(chunk, last_);
    if (chunk != nullptr && chunk->region.bytes > 0) free_.push_back(std::move(chunk));
    return true;
  }

  void set_result(std::string_view record) {
    result_ = {.ordered = false, .record = records_, .offset = 0, .text = std::string(record)};
  }

  const GeneralSortOptions& options_;
  std::shared_ptr<const KeyExtractor> keys_;
  Inputs inputs_;
  MemoryRegion own_memory_;
  std::span<std::byte> memory_;
  MultisetHash* const sum_;
  std::vector<std::unique_ptr<CheckedRegion>> free_;
  std::deque<std::unique_ptr<CheckedRegion>> running_;
  std::unique_ptr<CheckedRegion> last_;  // with the last record so far
  std::uint64_t records_ = 0;
  OrderCheck result_;
  Monitor monitor_;
  io::IoService io_;
  std::uint64_t memory_bytes_;  // of -S, beside a decoder
  unsigned threads_;
  Workers workers_;
  InFlight in_flight_;
};

}  // namespace

OrderCheck check_general_order(const GeneralSortOptions& options) {
  OrderCheck order = OrderChecking(options).run();
  if (order.ordered && options.missing_members) order.missing_members = options.missing_members();
  return order;
}

void check_sorted_general(const GeneralSortOptions& options,
                          std::shared_ptr<const KeyExtractor> keys, const MultisetHash& sum,
                          io::File& output, std::span<std::byte> memory) {
  MemoryRegion least;
  memory = memory.first(round_down(memory.size(), kSectorBytes));
  if (memory.size() < kCheckRegionBytes) {
    least = MemoryRegion(kCheckRegionBytes);
    memory = least.span();
  }
  GeneralSortOptions check = options;
  // The header has been seen, and malformed records are not written.
  static_cast<RecordRules&>(check) = {std::move(keys), {}, {}, {}, {}};
  check.syntax.tolerant = false;
  const std::string path = output.path();
  Inputs inputs;
  inputs.files.push_back(std::move(output));
  inputs.size_known = false;
  MultisetHash read;
  try {
    const OrderCheck order = OrderChecking(check, std::move(inputs), memory, &read).run();
    if (!order.ordered) throw_not_in_order(path, order.record, Error::kNoOffset);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space) throw;
    return;
  }
  check_read_back(path, read, sum);
}

}  // namespace xxl
