#include "gpu/join/array_hash_join.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "base/workers.h"
#include "gpu/join/host_hash.h"
#include "gpu/join/join_parts.h"

namespace xxl::gpu {
namespace {

constexpr std::size_t kFewestOfBatch = 4096;
// The most of the memory that places for batches take, unless they get too small.
constexpr std::uint64_t kPlacesPart = 4;
// Records that a processor enters in a table at a time.
constexpr std::size_t kInsertRecords = 1u << 18;
// The part of the room for near records that is planned for: hashes vary.
constexpr double kNearFill = 0.97;
// The factor by which that shrinks when more were near than fit, as with a frequent key.
constexpr double kNearRetry = 0.6;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

// Builds, then probes.
class HashJoiner::OneJoin {
 public:
  OneJoin(HashJoiner& joiner, bool counts_only, Bytes probe, Bytes build, const WantedRows& wanted,
          std::span<std::byte> rows)
      : joiner_(joiner),
        counts_only_(counts_only),
        shape_{.record_bytes = static_cast<std::uint32_t>(joiner.probe_.record_bytes),
               .wanted = wanted,
               .build_value = wanted.has_s() && joiner.build_.item.value_bytes != 0,
               .missing = joiner.options_.missing},
        probe_(probe.data()),
        build_(build.data()),
        probe_count_(probe.size() / joiner.probe_.record_bytes),
        build_count_(build.size() / joiner.build_.record_bytes),
        row_bytes_(joiner.row_bytes(wanted)),
        rows_(rows),
        tables_(joiner.lanes_.size()),
        fed_(joiner.lanes_.size(), 0) {
    XXL_CHECK(probe.size() % joiner.probe_.record_bytes == 0);
    XXL_CHECK(build.size() % joiner.build_.record_bytes == 0);
    XXL_CHECK(build_count_ <= joiner.most_build_records_);
    unsigned threads = joiner.options_.threads;
    if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
    workers_.emplace(threads);
  }

  JoinCounts go() try {
    auto start = Clock::now();
    const auto room = static_cast<double>(joiner_.shape_.build_records);
    const auto all = static_cast<double>(build_count_);
    double share = all <= room ? 1 : kNearFill * room / all;
    while (!build(share)) share = share * all < 1 ? 0 : share * kNearRetry;
    joiner_.near_part_ = share;
    joiner_.times_.build_seconds = seconds_since(start);
    start = Clock::now();
    probe();
    joiner_.times_.probe_seconds = seconds_since(start);
    counts_.lone_r = probe_count_ - counts_.matched_r;
    return counts_;
  } catch (...) {
    joiner_.lanes_.clear();  // their tasks use this and the arrays
    throw;
  }

 private:
  struct ProbeBatch {
    std::size_t first = 0, count = 0;
    JoinLane* lane = nullptr;
    const DeviceHashTable* table = nullptr;
    JoinPlace place;
    std::vector<std::uint64_t> tile_rows;
    std::uint64_t rows_done = 0;
    std::byte* to = nullptr;
  };

  void wait_for_all() {
    while (under_way_ > 0) joiner_.mailbox_.wait_and_run();
  }
  // Counts a task as under way from now on; the task must call the result at its end.
  std::function<void()> ending(std::function<void()> done = nullptr) {
    ++under_way_;
    return [this, done = std::move(done)] {
      --under_way_;
      if (done) done();
    };
  }
  void run_on_host(Workers::Task task) {
    ++under_way_;
    workers_->run([this, task = std::move(task)](unsigned thread) {
      task(thread);
      joiner_.mailbox_.post([this] { --under_way_; });
    });
  }

  // --- building ---

  // Builds with `share` of all keys near. False if they do not fit.
  bool build(double share) {
    const auto bytes = static_cast<std::uint32_t>(joiner_.build_.record_bytes);
    DeviceHashTable table;
    table.record_bytes = bytes;
    table.key_bytes = joiner_.build_.item.key_bytes;
    table.near_share =
        static_cast<std::uint64_t>(share * static_cast<double>(DeviceHashTable::kAll));
    all_near_ = share == 1;
    if (!all_near_) build_far(table, share);
    for (std::size_t i = 0; i < joiner_.lanes_.size(); ++i) {
      const HashTableMemory& memory = joiner_.tables_[i];
      tables_[i] = table;
      tables_[i].near = memory.near;
      tables_[i].near.slot_count =
          HashJoinShape::slots(std::min(build_count_, joiner_.shape_.build_records));
      fed_[i] = 0;
      joiner_.lanes_[i]->work.run(
          "clear",
          [this, &memory, i](Stream& stream) {
            stream.clear(reinterpret_cast<std::byte*>(memory.near.slots),
                         tables_[i].near.slot_count * sizeof(std::uint32_t));
            stream.clear(reinterpret_cast<std::byte*>(memory.notes), sizeof *memory.notes);
          },
          ending());
      feed_build(i);
    }
    wait_for_all();
    bool chains = far_chains_, fits = true;
    for (std::size_t i = 0; i < joiner_.lanes_.size(); ++i) {
      const HashTableMemory& memory = joiner_.tables_[i];
      if (!all_near_) {
        note(i);
        wait_for_all();
        near_count_ = memory.host_notes->selected;
        if (near_count_ > joiner_.shape_.build_records) {
          fits = false;
          continue;
        }
        joiner_.lanes_[i]->work.run(
            "insert",
            [this, &memory, i](Stream& stream) {
              stream.insert(tables_[i], 0, near_count_,
                            reinterpret_cast<std::uint32_t*>(&memory.notes->chains));
            },
            ending());
      } else {
        near_count_ = build_count_;
      }
      note(i);
      wait_for_all();
      chains |= memory.host_notes->chains != 0;
    }
    for (DeviceHashTable& each : tables_) each.chains = chains;
    return fits;
  }

  void note(std::size_t index) {
    const HashTableMemory& memory = joiner_.tables_[index];
    joiner_.lanes_[index]->work.run(
        "copy out",
        [&memory](Stream& stream) {
          stream.copy_out(reinterpret_cast<std::byte*>(memory.host_notes),
                          reinterpret_cast<const std::byte*>(memory.notes), sizeof *memory.notes);
        },
        ending());
  }

  // Sends the build side to a lane as long as there are places, each for a piece under way.
  void feed_build(std::size_t index) {
    JoinLane& lane = *joiner_.lanes_[index];
    const HashTableMemory& memory = joiner_.tables_[index];
    const std::size_t bytes = joiner_.build_.record_bytes;
    const std::size_t most = joiner_.shape_.batch.records * joiner_.probe_.record_bytes / bytes;
    while (fed_[index] < build_count_ && !lane.places.empty()) {
      const std::size_t first = fed_[index], count = std::min(most, build_count_ - first);
      fed_[index] += count;
      const JoinPlace place = lane.places.back();
      lane.places.pop_back();
      std::byte* const to = all_near_ ? memory.records + first * bytes : place.records;
      const auto enter = [this, index, &memory, place, first, count](Stream& stream) {
        if (all_near_) {
          stream.insert(tables_[index], first, first + count,
                        reinterpret_cast<std::uint32_t*>(&memory.notes->chains));
        } else {
          stream.select(tables_[index], place.records, count, memory.records,
                        joiner_.shape_.build_records, &memory.notes->selected);
        }
      };
      const auto give_back = [this, index, &lane, place] {
        lane.places.push_back(place);
        feed_build(index);
      };
      lane.link.copy_in(to, build_ + first * bytes, count * bytes,
                        ending([this, &lane, enter, give_back] {
                          lane.work.run(all_near_ ? "insert" : "select", enter, ending(give_back));
                        }));
    }
  }

  // Far records stay in place.
  void build_far(DeviceHashTable& table, double share) {
    const double far = (1 - share) * static_cast<double>(build_count_);
    const auto records = static_cast<std::size_t>(far + 8 * std::sqrt(far)) + 64;
    table.far.slot_count = HashJoinShape::slots(std::min(build_count_, records));
    XXL_CHECK(table.far.slot_count + build_count_ <= joiner_.far_words_);
    table.far.slots = reinterpret_cast<std::uint32_t*>(joiner_.far_memory_.data());
    table.far.next = table.far.slots + table.far.slot_count;
    table.far.records = build_;
    far_chains_ = false;
    for (std::size_t first = 0; first < table.far.slot_count; first += kInsertRecords) {
      const std::size_t count = std::min(kInsertRecords, table.far.slot_count - first);
      run_on_host([&table, first, count](unsigned) {
        std::memset(table.far.slots + first, 0, count * sizeof(std::uint32_t));
      });
    }
    wait_for_all();
    far_table_ = table;
    for (std::size_t first = 0; first < build_count_; first += kInsertRecords) {
      const std::size_t end = std::min(first + kInsertRecords, build_count_);
      run_on_host([this, first, end](unsigned) {
        if (insert_records(far_table_, far_table_.far, first, end)) far_chains_ = true;
      });
    }
  }

  // --- probing ---

  void probe() {
    feed();
    wait_for_all();
  }

  // Takes up to `most` records of the probe side: the first of them, and how many.
  std::pair<std::size_t, std::size_t> take(std::size_t most) {
    const std::size_t first = next_record_, count = std::min(most, probe_count_ - first);
    next_record_ += count;
    return {first, count};
  }
  // A place for `rows` rows.
  std::byte* place_for(std::uint64_t rows) {
    if (next_row_ + rows > rows_.size() / row_bytes_) {
      throw Error(ErrorCode::no_space, "the rows of the join do not fit into their array");
    }
    return rows_.data() + std::exchange(next_row_, next_row_ + rows) * row_bytes_;
  }

  void feed() {
    for (std::size_t i = 0; i < joiner_.lanes_.size(); ++i) {
      JoinLane& lane = *joiner_.lanes_[i];
      while (!lane.places.empty()) {
        // Small enough to keep all lanes busy.
        const std::size_t even = ceil_div(probe_count_, joiner_.lanes_.size());
        const auto [first, count] = take(
            std::min(joiner_.shape_.batch.records, std::max<std::size_t>(even, kFewestOfBatch)));
        if (count == 0) return;
        auto batch = std::make_shared<ProbeBatch>();
        batch->first = first;
        batch->count = count;
        batch->lane = &lane;
        batch->table = &tables_[i];
        batch->place = lane.places.back();
        lane.places.pop_back();
        start(batch);
      }
    }
  }

  void start(const std::shared_ptr<ProbeBatch>& batch) {
    const std::size_t bytes = joiner_.probe_.record_bytes;
    const auto probe = [this, batch](Stream& stream) {
      const JoinPlace& place = batch->place;
      stream.probe(*batch->table, shape_, place.records, batch->count, place.ranges, place.totals);
    };
    batch->lane->link.copy_in(batch->place.records, probe_ + batch->first * bytes,
                              batch->count * bytes, ending([this, batch, probe] {
                                batch->lane->work.run(
                                    "probe", probe, ending([this, batch] { finish_probe(batch); }));
                              }));
  }

  void finish_probe(const std::shared_ptr<ProbeBatch>& batch) {
    std::uint64_t rows = 0;
    for (std::size_t first = 0; first < batch->count; first += kMatchTile) {
      const TileTotals& sum = batch->place.totals[first / kMatchTile];
      counts_.pairs += sum.pairs;
      counts_.matched_r += sum.matched_r;
      batch->tile_rows.push_back(rows);
      const std::uint64_t lone = std::min(kMatchTile, batch->count - first) - sum.matched_r;
      const JoinCounts counts{.pairs = sum.pairs, .matched_r = sum.matched_r, .lone_r = lone};
      rows += counts.rows(shape_.wanted);
    }
    batch->tile_rows.push_back(rows);
    if (counts_only_ || rows == 0) {
      release(*batch);
      return;
    }
    batch->to = place_for(rows);
    write_slice(batch);
  }

  // As many rows as a place holds, again until all are written.
  void write_slice(const std::shared_ptr<ProbeBatch>& batch) {
    const std::uint64_t rows = std::min<std::uint64_t>(joiner_.shape_.batch.records,
                                                       batch->tile_rows.back() - batch->rows_done);
    const auto write = [this, batch, rows](Stream& stream) {
      const JoinPlace& place = batch->place;
      stream.write_rows(*batch->table, shape_, place.records, batch->count, place.ranges,
                        batch->tile_rows, batch->rows_done, rows, place.rows);
    };
    const auto written = [this, batch, rows] {
      batch->rows_done += rows;
      if (batch->rows_done < batch->tile_rows.back()) {
        write_slice(batch);
      } else {
        release(*batch);
      }
    };
    batch->lane->work.run("write rows", write, ending([this, batch, rows, written] {
                            batch->lane->link.copy_out(batch->to + batch->rows_done * row_bytes_,
                                                       batch->place.rows, rows * row_bytes_,
                                                       ending(written));
                          }));
  }

  void release(const ProbeBatch& batch) {
    batch.lane->places.push_back(batch.place);
    feed();
  }

  HashJoiner& joiner_;
  const bool counts_only_;
  const ProbeShape shape_;
  const std::byte *probe_, *build_;
  const std::size_t probe_count_, build_count_;
  const std::size_t row_bytes_;
  const std::span<std::byte> rows_;

  std::vector<DeviceHashTable> tables_;  // of each lane
  std::vector<std::size_t> fed_;         // records of the build side that each lane received
  bool all_near_ = true;
  std::size_t near_count_ = 0;
  DeviceHashTable far_table_;
  std::atomic<bool> far_chains_ = false;

  std::size_t next_record_ = 0;
  std::uint64_t next_row_ = 0;
  JoinCounts counts_;
  std::size_t under_way_ = 0;       // tasks of devices and workers
  std::optional<Workers> workers_;  // last: tasks use the rest
};

HashJoiner::HashJoiner(std::vector<Device*> devices, const KeyLayout& probe, const KeyLayout& build,
                       std::size_t most_build_records, const HashJoinOptions& options)
    : devices_(std::move(devices)),
      options_(options),
      probe_(joinable_shape(probe)),
      build_(joinable_shape(build)),
      most_build_records_(most_build_records) {
  XXL_CHECK(!devices_.empty());
  check_same_keys(probe_, build_);
  if (most_build_records >= std::numeric_limits<std::uint32_t>::max() / 2) {
    throw Error(ErrorCode::usage, "the build side of a join by hash has too many records");
  }
  const std::uint64_t memory = usable_memory(devices_, options_.memory_bytes);
  shape_.build_record_bytes = build_.record_bytes;
  shape_.batch = {.record_bytes = probe_.record_bytes,
                  .row_bytes = probe_.record_bytes + build_.item.value_bytes,
                  .totals = true};
  for (shape_.batch.records = options_.batch_records;; shape_.batch.records /= 2) {
    const bool fits = shape_.bytes() <= memory;
    const bool small = shape_.batch.records <= kFewestOfBatch;
    if (fits && (small || shape_.bytes() <= memory / kPlacesPart)) break;
    if (small) {
      throw Error(ErrorCode::no_space, "joining needs more memory of the GPUs than the " +
                                           format_bytes(memory) + " that are free or allowed");
    }
  }
  const std::uint64_t each = build_.record_bytes + 3 * sizeof(std::uint32_t);
  const std::uint64_t margin = 4 * kAreaAlignment;
  const std::uint64_t left = memory - shape_.bytes();
  shape_.build_records = static_cast<std::size_t>(
      std::min<std::uint64_t>(most_build_records, left > margin ? (left - margin) / each : 0));
  if (shape_.build_records < most_build_records) {
    far_words_ = HashJoinShape::slots(most_build_records) + most_build_records;
    far_memory_ = SharedMemory(*devices_.front(), far_words_ * sizeof(std::uint32_t));
  }
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    tables_.emplace_back(*devices_[i], shape_);
    lanes_.push_back(std::make_unique<JoinLane>(*devices_[i], i, shape_.batch, " hash", mailbox_,
                                                options_.time_line));
  }
}

HashJoiner::~HashJoiner() = default;

std::size_t HashJoiner::row_bytes(const WantedRows& wanted) const {
  return RowFormat::of(probe_, build_, wanted, 0).bytes();
}

JoinCounts HashJoiner::join(Bytes probe, Bytes build, const WantedRows& wanted,
                            std::span<std::byte> rows) {
  return run(false, probe, build, wanted, rows);
}

JoinCounts HashJoiner::count(Bytes probe, Bytes build) {
  return run(true, probe, build, {}, {});
}

JoinCounts HashJoiner::run(bool counts_only, Bytes probe, Bytes build, const WantedRows& wanted,
                           std::span<std::byte> rows) {
  XXL_CHECK(!lanes_.empty());  // no failure before
  if (wanted.lone_s) {
    throw Error(ErrorCode::usage, "a join by hash finds no records of the build side alone");
  }
  return OneJoin(*this, counts_only, probe, build, wanted, rows).go();
}

}  // namespace xxl::gpu
