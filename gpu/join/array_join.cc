#include "gpu/join/array_join.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "base/workers.h"
#include "gpu/join/join_shape.h"

namespace xxl::gpu {
namespace {

constexpr std::size_t kFewestRecords = 4096;
// Places in host memory for each one on a device: rows are made from some while others are filled.
constexpr std::size_t kStagingForPlace = 2;

}  // namespace

// One join: parts go from the cutter to a lane and from there, in order, to the workers.
class ArrayJoiner::Run {
 public:
  Run(ArrayJoiner& joiner, Result result, const Relation& r, const Relation& s,
      const WantedRows& wanted, std::span<std::byte> rows, const TakeMatches* take)
      : joiner_(joiner),
        result_(result),
        r_(r),
        s_(s),
        wanted_(wanted),
        format_(RowFormat::of(r.shape, s.shape, wanted, joiner.options_.missing)),
        rows_(rows),
        take_(take),
        cutter_(r, s, joiner.distance_),
        next_(cutter_.next()) {
    // Parts that need no search are always written by the host.
    if (result_ != Result::counts) {
      unsigned threads = joiner.options_.threads;
      if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
      workers_.emplace(threads);
    }
  }

  JoinCounts go() try {
    for (;;) {
      feed();
      dispatch();
      if (!next_ && entries_.empty() && working_ == 0) return counts_;
      if (next_ && can_feed()) continue;
      joiner_.mailbox_.wait_and_run();
    }
  } catch (...) {
    joiner_.lanes_.clear();  // their tasks use this and the arrays
    throw;
  }

 private:
  struct Entry {
    MatchedPart matched;
    Staging staging;
    JoinLane* lane = nullptr;  // of a part that is searched
    JoinPlace place;
    std::vector<std::uint64_t> tile_rows;  // of a part whose rows a device writes
    std::uint64_t rows_done = 0;
    std::byte* to = nullptr;
    bool matching = false;       // a device works on it
    std::size_t tasks_left = 0;  // of workers
  };

  bool device_rows() const { return result_ == Result::rows && !joiner_.options_.host_rows; }
  // Ranges leave the device.
  bool takes_ranges() const { return result_ != Result::counts && !device_rows(); }

  JoinLane* free_lane() {
    for (std::size_t i = 0; i < joiner_.lanes_.size(); ++i) {
      JoinLane& lane = *joiner_.lanes_[(next_lane_ + i) % joiner_.lanes_.size()];
      if (!lane.places.empty()) return &lane;
    }
    return nullptr;
  }
  bool can_feed() {
    return !next_->needs_search() || (!joiner_.staging_.empty() && free_lane() != nullptr);
  }

  void feed() {
    while (next_ && can_feed()) {
      auto entry = std::make_unique<Entry>();
      entry->matched.part = *next_;
      if (next_->needs_search()) match(*entry);
      entries_.push_back(std::move(entry));
      next_ = cutter_.next();
    }
  }

  void match(Entry& entry) {
    JoinLane& lane = *free_lane();
    next_lane_ = (next_lane_ + 1) % joiner_.lanes_.size();
    entry.lane = &lane;
    entry.place = lane.places.back();
    lane.places.pop_back();
    entry.staging = joiner_.staging_.back();
    joiner_.staging_.pop_back();
    entry.matching = true;
    lane.next_in().run(
        "copy in",
        [this, &entry](Stream& stream) {
          const JoinPart& part = entry.matched.part;
          const std::size_t r_bytes = r_.shape.record_bytes, s_bytes = s_.shape.record_bytes;
          stream.copy_in(entry.place.records, r_.records + part.first_r * r_bytes,
                         part.r_count() * r_bytes);
          stream.copy_in(s_records(entry), s_.records + part.first_s * s_bytes,
                         part.s_count() * s_bytes);
        },
        [this, &entry] { search(entry); });
  }
  // Those of S, after those of R.
  std::byte* s_records(const Entry& entry) const {
    return entry.place.records + aligned(entry.matched.part.r_count() * r_.shape.record_bytes);
  }

  void search(Entry& entry) {
    entry.lane->work->run(
        "match",
        [this, &entry](Stream& stream) {
          const JoinPart& part = entry.matched.part;
          const JoinPlace& place = entry.place;
          const unsigned key_bytes = r_.shape.item.key_bytes;
          const Items r{place.keys, nullptr, part.r_count()};
          const Items s{place.keys + aligned(part.r_count() * key_bytes), nullptr, part.s_count()};
          stream.load(r_.shape, {}, place.records, r);
          stream.load(s_.shape, {}, s_records(entry), s);
          stream.match(key_bytes, r, s, result_ == Result::counts ? nullptr : place.ranges,
                       entry.staging.totals);
        },
        [this, &entry] {
          entry.matched.totals = entry.staging.totals;
          if (takes_ranges()) {
            fetch(entry);
            return;
          }
          entry.matching = false;
          if (!device_rows()) entry.lane->places.push_back(entry.place);
        });
  }

  void fetch(Entry& entry) {
    entry.lane->next_out().run(
        "copy out",
        [&entry](Stream& stream) {
          stream.copy_out(reinterpret_cast<std::byte*>(entry.staging.ranges),
                          reinterpret_cast<const std::byte*>(entry.place.ranges),
                          entry.matched.part.r_count() * sizeof(MatchRange));
        },
        [&entry] {
          entry.matched.ranges = entry.staging.ranges;
          entry.matching = false;
          entry.lane->places.push_back(entry.place);
        });
  }

  // Passes on what has been matched, in order, so that the place of its rows is known.
  void dispatch() {
    while (!entries_.empty() && !entries_.front()->matching) {
      const std::shared_ptr<Entry> entry = std::move(entries_.front());
      entries_.pop_front();
      counts_.add(entry->matched);
      if (result_ == Result::counts) {
        give_back(*entry);
      } else if (result_ == Result::matches) {
        work(entry, {[this, matched = entry->matched](unsigned) { (*take_)(matched); }});
      } else if (device_rows() && entry->lane != nullptr) {
        write_on_device(entry);
      } else {
        work(entry, writing(*entry));
      }
    }
  }

  void work(const std::shared_ptr<Entry>& entry, std::vector<Workers::Task> tasks) {
    entry->tasks_left = tasks.size();
    if (tasks.empty()) {
      give_back(*entry);
      return;
    }
    ++working_;
    for (Workers::Task& task : tasks) {
      workers_->run([this, entry, task = std::move(task)](unsigned thread) {
        task(thread);
        joiner_.mailbox_.post([this, entry] {
          if (--entry->tasks_left > 0) return;
          give_back(*entry);
          --working_;
        });
      });
    }
  }

  // Where the rows of the next part go.
  std::byte* place_for(std::uint64_t rows) {
    if (rows > rows_.size() / format_.bytes() - rows_written_) {
      throw Error(ErrorCode::no_space, "the rows of the join do not fit into their array");
    }
    std::byte* const to = rows_.data() + rows_written_ * format_.bytes();
    rows_written_ += rows;
    return to;
  }

  void write_on_device(const std::shared_ptr<Entry>& entry) {
    entry->tile_rows = tile_rows(entry->matched, wanted_);
    entry->to = place_for(entry->tile_rows.back());
    ++working_;
    write_slice(entry);
  }

  // As many rows as a place holds, again until all are written.
  void write_slice(const std::shared_ptr<Entry>& entry) {
    const std::uint64_t rows = std::min<std::uint64_t>(joiner_.place_shape_.records,
                                                       entry->tile_rows.back() - entry->rows_done);
    if (rows == 0) {
      entry->lane->places.push_back(entry->place);
      give_back(*entry);
      --working_;
      return;
    }
    entry->lane->work->run(
        "write rows",
        [this, entry, rows](Stream& stream) {
          stream.write_matches(match_rows(*entry, rows), entry->tile_rows, entry->place.rows);
        },
        [this, entry, rows] {
          entry->lane->next_out().run(
              "copy out",
              [this, entry, rows](Stream& stream) {
                stream.copy_out(entry->to + entry->rows_done * format_.bytes(), entry->place.rows,
                                rows * format_.bytes());
              },
              [this, entry, rows] {
                entry->rows_done += rows;
                write_slice(entry);
              });
        });
  }

  DeviceRows match_rows(const Entry& entry, std::uint64_t rows) const {
    const JoinPart& part = entry.matched.part;
    DeviceRows m;
    m.r = entry.place.records;
    m.s = s_records(entry);
    m.r_count = static_cast<std::uint32_t>(part.r_count());
    m.s_count = static_cast<std::uint32_t>(part.s_count());
    m.r_record_bytes = static_cast<std::uint32_t>(r_.shape.record_bytes);
    m.s_record_bytes = static_cast<std::uint32_t>(s_.shape.record_bytes);
    m.key_bytes = format_.key_bytes;
    m.pairs = wanted_.pairs;
    m.matched_r = wanted_.matched_r;
    m.lone_r = wanted_.lone_r;
    m.lone_s = wanted_.lone_s;
    m.s_value = format_.s_value_bytes != 0;
    m.missing = format_.missing;
    m.ranges = entry.place.ranges;
    m.first_row = entry.rows_done;
    m.rows = rows;
    return m;
  }

  std::vector<Workers::Task> writing(const Entry& entry) {
    const MatchedPart& matched = entry.matched;
    std::byte* const to = place_for(matched.rows(wanted_));
    std::vector<Workers::Task> tasks;
    for (const RowTask& task : row_tasks(matched, wanted_, joiner_.options_.task_rows)) {
      tasks.push_back([this, matched, task, to](unsigned) {
        write_task_rows(r_, s_, matched, wanted_, format_, task,
                        to + task.first_row * format_.bytes());
      });
    }
    return tasks;
  }

  void give_back(const Entry& entry) {
    if (entry.staging.totals != nullptr) joiner_.staging_.push_back(entry.staging);
  }

  ArrayJoiner& joiner_;
  Result result_;
  Relation r_, s_;
  WantedRows wanted_;
  RowFormat format_;
  std::span<std::byte> rows_;
  const TakeMatches* take_;
  JoinCutter cutter_;
  std::optional<JoinPart> next_;
  std::size_t next_lane_ = 0;
  std::deque<std::unique_ptr<Entry>> entries_;  // in order; the first ones are done first
  std::size_t working_ = 0;                     // entries that workers work on
  std::uint64_t rows_written_ = 0;
  JoinCounts counts_;
  std::optional<Workers> workers_;  // last: tasks use the rest
};

ArrayJoiner::ArrayJoiner(std::vector<Device*> devices, const KeyLayout& r, const KeyLayout& s,
                         const ArrayJoinOptions& options)
    : devices_(std::move(devices)),
      options_(options),
      r_(joinable_shape(r)),
      s_(joinable_shape(s)) {
  XXL_CHECK(!devices_.empty());
  check_same_keys(r_, s_);
  const std::uint64_t memory = usable_memory(devices_, options_.memory_bytes);
  JoinPlaceShape& place = place_shape_;
  place.record_bytes = std::max(r_.record_bytes, s_.record_bytes);
  place.key_bytes = r_.item.key_bytes;
  place.row_bytes = options_.host_rows ? 0 : r_.record_bytes + s_.item.value_bytes;
  for (distance_ = options_.part_records;; distance_ /= 2) {
    // Keys and records of S begin at an aligned place after those of R.
    place.records = 2 * distance_ + kAreaAlignment;
    if (JoinLane::kPlaces * place.bytes() <= memory) break;
    if (distance_ <= kFewestRecords) {
      throw Error(ErrorCode::no_space, "joining needs more memory of the GPUs than the " +
                                           format_bytes(memory) + " that are free or allowed");
    }
  }
  make_staging();
  if (options_.host_rows) add_ranges_to_staging();
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    lanes_.push_back(
        std::make_unique<JoinLane>(*devices_[i], i, place, mailbox_, options_.time_line));
  }
}

ArrayJoiner::~ArrayJoiner() = default;

void ArrayJoiner::make_staging() {
  const std::size_t bytes =
      aligned(ceil_div(place_shape_.records, kMatchTile) * sizeof(TileTotals));
  const std::size_t count = devices_.size() * JoinLane::kPlaces * kStagingForPlace;
  totals_memory_ = SharedMemory(*devices_.front(), count * bytes);
  for (std::size_t i = 0; i < count; ++i) {
    staging_.push_back({nullptr, reinterpret_cast<TileTotals*>(totals_memory_.data() + i * bytes)});
  }
}

void ArrayJoiner::add_ranges_to_staging() {
  if (ranges_memory_.data() != nullptr) return;
  const std::size_t bytes = aligned(place_shape_.records * sizeof(MatchRange));
  ranges_memory_ = SharedMemory(*devices_.front(), staging_.size() * bytes);
  for (std::size_t i = 0; i < staging_.size(); ++i) {
    staging_[i].ranges = reinterpret_cast<MatchRange*>(ranges_memory_.data() + i * bytes);
  }
}

Relation ArrayJoiner::relation(const RecordShape& shape, Bytes array) const {
  XXL_CHECK(array.size() % shape.record_bytes == 0);
  return {shape, array.data(), array.size() / shape.record_bytes};
}

std::size_t ArrayJoiner::row_bytes(const WantedRows& wanted) const {
  return RowFormat::of(r_, s_, wanted, 0).bytes();
}

JoinCounts ArrayJoiner::join(Bytes r, Bytes s, const WantedRows& wanted,
                             std::span<std::byte> rows) {
  return run(Result::rows, r, s, wanted, rows, nullptr);
}

JoinCounts ArrayJoiner::count(Bytes r, Bytes s) {
  return run(Result::counts, r, s, {}, {}, nullptr);
}

JoinCounts ArrayJoiner::matches(Bytes r, Bytes s, const TakeMatches& take) {
  return run(Result::matches, r, s, {}, {}, &take);
}

JoinCounts ArrayJoiner::run(Result result, Bytes r, Bytes s, const WantedRows& wanted,
                            std::span<std::byte> rows, const TakeMatches* take) {
  XXL_CHECK(!lanes_.empty());  // no failure before
  if (result == Result::matches || (result == Result::rows && options_.host_rows)) {
    add_ranges_to_staging();
  }
  std::optional<PinnedArrays> pinned;
  if (options_.pin) pinned.emplace(*devices_.front(), std::initializer_list<Bytes>{r, s, rows});
  return Run(*this, result, relation(r_, r), relation(s_, s), wanted, rows, take).go();
}

}  // namespace xxl::gpu
