#include "gpu/join/array_join.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "base/workers.h"

namespace xxl::gpu {
namespace {

constexpr std::size_t kFewestRecords = 4096;
// Places in host memory for each one on a device: rows are made from some while others are filled.
constexpr std::size_t kStagingForPlace = 2;

}  // namespace

// One join: parts go from the cutter to a lane and from there, in order, to the workers.
class ArrayJoiner::OneJoin {
 public:
  OneJoin(ArrayJoiner& joiner, Result result, const Relation& r, const Relation& s,
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
      if (!next_ && parts_.empty() && working_ == 0) return counts_;
      if (next_ && can_feed()) continue;
      joiner_.mailbox_.wait_and_run();
    }
  } catch (...) {
    joiner_.lanes_.clear();  // their tasks use this and the arrays
    throw;
  }

 private:
  // A part that is under way.
  struct PartInWork {
    MatchedPart matched;
    Staging staging;
    JoinLane* lane = nullptr;  // of a part that is searched
    JoinPlace place;
    std::vector<std::uint64_t> tile_rows;  // of a part whose rows a device writes
    std::uint64_t rows_done = 0;
    std::byte* to = nullptr;
    bool matching = false;       // a device works on it
    unsigned copies = 0;         // in, under way
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
      auto part = std::make_unique<PartInWork>();
      part->matched.part = *next_;
      if (next_->needs_search()) match(*part);
      parts_.push_back(std::move(part));
      next_ = cutter_.next();
    }
  }

  void match(PartInWork& part) {
    JoinLane& lane = *free_lane();
    next_lane_ = (next_lane_ + 1) % joiner_.lanes_.size();
    part.lane = &lane;
    part.place = lane.places.back();
    lane.places.pop_back();
    part.staging = joiner_.staging_.back();
    joiner_.staging_.pop_back();
    part.matching = true;
    const JoinPart& records = part.matched.part;
    copy_in(part, part.place.records, r_, records.first_r, records.r_count());
    copy_in(part, s_records(part), s_, records.first_s, records.s_count());
  }
  void copy_in(PartInWork& part, std::byte* to, const Relation& side, std::size_t first,
               std::size_t count) {
    ++part.copies;
    const std::size_t bytes = side.shape.record_bytes;
    part.lane->link.copy_in(to, side.records + first * bytes, count * bytes, [this, &part] {
      if (--part.copies == 0) search(part);
    });
  }
  // Those of S, after those of R.
  std::byte* s_records(const PartInWork& part) const {
    return part.place.records + aligned(part.matched.part.r_count() * r_.shape.record_bytes);
  }

  void search(PartInWork& part) {
    part.lane->work.run(
        "match",
        [this, &part](Stream& stream) {
          const JoinPart& records = part.matched.part;
          const JoinPlace& place = part.place;
          const unsigned key_bytes = r_.shape.item.key_bytes;
          const Items r{place.keys, nullptr, records.r_count()};
          const Items s{place.keys + aligned(records.r_count() * key_bytes), nullptr,
                        records.s_count()};
          stream.load(r_.shape, {}, place.records, r);
          stream.load(s_.shape, {}, s_records(part), s);
          stream.match(key_bytes, r, s, result_ == Result::counts ? nullptr : place.ranges,
                       part.staging.totals);
        },
        [this, &part] {
          part.matched.totals = part.staging.totals;
          if (takes_ranges()) {
            fetch(part);
            return;
          }
          part.matching = false;
          if (!device_rows()) part.lane->places.push_back(part.place);
        });
  }

  void fetch(PartInWork& part) {
    part.lane->link.copy_out(reinterpret_cast<std::byte*>(part.staging.ranges),
                             reinterpret_cast<const std::byte*>(part.place.ranges),
                             part.matched.part.r_count() * sizeof(MatchRange), [&part] {
                               part.matched.ranges = part.staging.ranges;
                               part.matching = false;
                               part.lane->places.push_back(part.place);
                             });
  }

  // Passes on what has been matched, in order, so that the place of its rows is known.
  void dispatch() {
    while (!parts_.empty() && !parts_.front()->matching) {
      const std::shared_ptr<PartInWork> part = std::move(parts_.front());
      parts_.pop_front();
      counts_.add(part->matched);
      if (result_ == Result::counts) {
        give_back(*part);
      } else if (result_ == Result::matches) {
        work(part, {[this, matched = part->matched](unsigned) { (*take_)(matched); }});
      } else if (device_rows() && part->lane != nullptr) {
        write_on_device(part);
      } else {
        work(part, writing(*part));
      }
    }
  }

  void work(const std::shared_ptr<PartInWork>& part, std::vector<Workers::Task> tasks) {
    part->tasks_left = tasks.size();
    if (tasks.empty()) {
      give_back(*part);
      return;
    }
    ++working_;
    for (Workers::Task& task : tasks) {
      workers_->run([this, part, task = std::move(task)](unsigned thread) {
        task(thread);
        joiner_.mailbox_.post([this, part] {
          if (--part->tasks_left > 0) return;
          give_back(*part);
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

  void write_on_device(const std::shared_ptr<PartInWork>& part) {
    part->tile_rows = tile_rows(part->matched, wanted_);
    part->to = place_for(part->tile_rows.back());
    ++working_;
    write_slice(part);
  }

  // As many rows as a place holds, again until all are written.
  void write_slice(const std::shared_ptr<PartInWork>& part) {
    const std::uint64_t rows = std::min<std::uint64_t>(joiner_.place_shape_.records,
                                                       part->tile_rows.back() - part->rows_done);
    if (rows == 0) {
      part->lane->places.push_back(part->place);
      give_back(*part);
      --working_;
      return;
    }
    part->lane->work.run(
        "write rows",
        [this, part, rows](Stream& stream) {
          stream.write_matches(match_rows(*part, rows), part->tile_rows, part->place.rows);
        },
        [this, part, rows] {
          part->lane->link.copy_out(part->to + part->rows_done * format_.bytes(), part->place.rows,
                                    rows * format_.bytes(), [this, part, rows] {
                                      part->rows_done += rows;
                                      write_slice(part);
                                    });
        });
  }

  DeviceRows match_rows(const PartInWork& part, std::uint64_t rows) const {
    const JoinPart& records = part.matched.part;
    DeviceRows m;
    m.r = part.place.records;
    m.s = s_records(part);
    m.r_count = static_cast<std::uint32_t>(records.r_count());
    m.s_count = static_cast<std::uint32_t>(records.s_count());
    m.r_record_bytes = static_cast<std::uint32_t>(r_.shape.record_bytes);
    m.s_record_bytes = static_cast<std::uint32_t>(s_.shape.record_bytes);
    m.key_bytes = format_.key_bytes;
    m.wanted = wanted_;
    m.s_value = format_.s_value_bytes != 0;
    m.missing = format_.missing;
    m.ranges = part.place.ranges;
    m.first_row = part.rows_done;
    m.rows = rows;
    return m;
  }

  std::vector<Workers::Task> writing(const PartInWork& part) {
    const MatchedPart& matched = part.matched;
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

  void give_back(const PartInWork& part) {
    if (part.staging.totals != nullptr) joiner_.staging_.push_back(part.staging);
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
  std::deque<std::unique_ptr<PartInWork>> parts_;  // in order; the first ones are done first
  std::size_t working_ = 0;                        // parts that workers work on
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
        std::make_unique<JoinLane>(*devices_[i], i, place, " join", mailbox_, options_.time_line));
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
  return OneJoin(*this, result, relation(r_, r), relation(s_, s), wanted, rows, take).go();
}

}  // namespace xxl::gpu
