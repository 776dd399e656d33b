#include "io/scratch_store.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/thread.h"
#include "base/units.h"
#include "io/open_files.h"

namespace xxl::io {
namespace {

// Blocks of the fastest disk in one turn of the permutation when speeds differ.
constexpr double kWeightSteps = 8;

constexpr unsigned kFilesInMemory = 8;
constexpr unsigned kDescriptorsOfFile = 8;           // free ones, for each
constexpr std::uint64_t kBytesOfWorker = 64 * kMiB;  // that reserves a part of the files

// The set of free slots of one disk: one bit a slot, and above it one bit for each word of 64 slots
// that has a free one. Finding the lowest free slot looks at 1/4096 of the slots at worst.
class SlotSet {
 public:
  std::uint64_t capacity() const { return capacity_; }
  bool empty() const { return free_ == 0; }

  // Adds slots [capacity(), capacity() + slots), all free.
  void grow(std::uint64_t slots) {
    const std::uint64_t end = capacity_ + slots;
    words_.resize(ceil_div<std::uint64_t>(end, 64));
    summary_.resize(ceil_div<std::uint64_t>(words_.size(), 64));
    for (std::uint64_t slot = capacity_; slot < end; ++slot) insert(slot);
    capacity_ = end;
  }

  bool contains(std::uint64_t slot) const { return (words_[slot / 64] >> (slot % 64) & 1) != 0; }

  void insert(std::uint64_t slot) {
    words_[slot / 64] |= std::uint64_t{1} << (slot % 64);
    summary_[slot / 4096] |= std::uint64_t{1} << (slot / 64 % 64);
    first_ = std::min(first_, slot / 4096);
    ++free_;
  }

  std::uint64_t take_lowest() {
    while (summary_[first_] == 0) ++first_;
    const std::uint64_t word = first_ * 64 + std::countr_zero(summary_[first_]);
    const std::uint64_t slot = word * 64 + std::countr_zero(words_[word]);
    words_[word] &= words_[word] - 1;
    if (words_[word] == 0) summary_[first_] &= summary_[first_] - 1;
    --free_;
    return slot;
  }

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> summary_;
  std::uint64_t first_ = 0;  // no free slot below summary_[first_]
  std::uint64_t free_ = 0;
  std::uint64_t capacity_ = 0;
};

// How often each disk comes in one turn: whole numbers in proportion to `weights`, without a common
// divisor, so that equal disks come once.
std::vector<unsigned> turn_counts(std::size_t disks, const std::vector<double>& weights) {
  std::vector<unsigned> counts(disks, 1);
  if (weights.empty()) return counts;
  XXL_CHECK(weights.size() == disks);
  XXL_CHECK(std::ranges::all_of(weights, [](double w) { return std::isfinite(w) && w > 0; }));
  const double fastest = *std::ranges::max_element(weights);
  unsigned divisor = 0;
  for (std::size_t d = 0; d < disks; ++d) {
    counts[d] =
        std::max(1u, static_cast<unsigned>(std::lround(weights[d] / fastest * kWeightSteps)));
    divisor = std::gcd(divisor, counts[d]);
  }
  for (unsigned& count : counts) count /= divisor;
  return counts;
}

}  // namespace

dev_t ScratchSpace::device(unsigned, const File& file) const {
  return file.device();
}

unsigned ScratchSpace::files(const File& file) const {
  if (!file.is_in_memory()) return 1;
  const std::size_t free = free_descriptors(kFilesInMemory * kDescriptorsOfFile);
  return std::max(1u, static_cast<unsigned>(free / kDescriptorsOfFile));
}

std::uint64_t ScratchSpace::free_bytes(unsigned, const std::string& directory) const {
  // A file system filled to the last byte is slow, and others write to it too.
  const std::uint64_t free = io::free_bytes(directory);
  return free - std::min<std::uint64_t>(free / 64, 64 * kMiB);
}

void ScratchSpace::reserve(unsigned, File& file, std::uint64_t offset, std::uint64_t bytes) {
  file.reserve(offset, bytes);
}

bool ScratchSpace::gives_back_soon(const File& file) const {
  return file.gives_back_soon();
}

bool ScratchSpace::give_back(unsigned, File& file, std::uint64_t offset, std::uint64_t bytes) {
  return file.give_back(offset, bytes);
}

struct ScratchStore::Disk {
  std::string directory;
  std::vector<File> files;  // the slots go to them in turn, a stretch to each
  dev_t device = 0;
  unsigned turns = 1;  // in one turn of the permutation
  SlotSet free;
  std::uint64_t allocated_slots = 0;
};

// The slots that go back to the file system. All but the thread is guarded by the store's lock.
struct ScratchStore::Returning {
  struct Slots {
    unsigned disk;
    std::uint64_t first;
    std::uint64_t end;
    friend auto operator<=>(const Slots&, const Slots&) = default;
  };

  std::vector<Slots> waiting;
  bool busy = false;  // with some that no longer wait
  bool ended = false;
  std::condition_variable changed;
  Thread thread;
};

ScratchStore::ScratchStore(std::vector<std::string> directories, std::size_t block_bytes,
                           std::uint64_t seed, const std::vector<double>& weights,
                           std::unique_ptr<ScratchSpace> space)
    : block_bytes_(block_bytes), space_(std::move(space)), random_(seed) {
  XXL_CHECK(!directories.empty() && directories.size() <= kMaxDisks);
  XXL_CHECK(block_bytes > 0 && block_bytes % kSectorBytes == 0);
  const std::vector<unsigned> counts = turn_counts(directories.size(), weights);
  disks_.reserve(directories.size());
  for (unsigned d = 0; d < directories.size(); ++d) {
    Disk& disk = disks_.emplace_back();
    disk.directory = std::move(directories[d]);
    disk.files.push_back(File::create_unnamed(disk.directory));
    const unsigned files = space_->files(disk.files.front());
    while (disk.files.size() < files) disk.files.push_back(File::create_unnamed(disk.directory));
    disk.device = space_->device(d, disk.files.front());
    disk.turns = counts[d];
    turns_.insert(turns_.end(), counts[d], static_cast<std::uint8_t>(d));
  }
}

ScratchStore::ScratchStore(std::vector<std::vector<File>> files, std::size_t block_bytes)
    : block_bytes_(block_bytes), random_(0) {
  for (std::vector<File>& of_disk : files) {
    Disk& disk = disks_.emplace_back();
    disk.directory = of_disk.at(0).path();
    disk.files = std::move(of_disk);
  }
}

ScratchStore::~ScratchStore() {
  if (returning_ != nullptr) {
    {
      std::lock_guard lock(mutex_);
      returning_->ended = true;
    }
    returning_->changed.notify_all();
    returning_->thread.join();
  }
  if (counted_in_ != nullptr) *counted_in_ -= slots_in_use_ * block_bytes_;
}

void ScratchStore::reserve(std::uint64_t bytes) {
  const std::uint64_t slots = ceil_div<std::uint64_t>(bytes, block_bytes_);
  std::lock_guard lock(mutex_);
  if (slots > slots_) add_slots(slots - slots_);
}

ScratchStripe ScratchStore::new_stripe() {
  ScratchStripe stripe;
  std::lock_guard lock(mutex_);
  stripe.disks_ = turns_;
  for (std::size_t i = stripe.disks_.size(); i > 1; --i) {
    std::swap(stripe.disks_[i - 1], stripe.disks_[random_.below(i)]);
  }
  return stripe;
}

ScratchPlace ScratchStore::allocate(ScratchStripe& stripe) {
  std::lock_guard lock(mutex_);
  return allocate_one(stripe);
}

ScratchPlace ScratchStore::allocate_one(ScratchStripe& stripe) {
  XXL_CHECK(returning_ == nullptr);
  if (slots_in_use_ == slots_) {
    grow();
  }
  std::size_t turn = stripe.next_;
  while (disks_[stripe.disks_[turn]].free.empty()) turn = (turn + 1) % stripe.disks_.size();
  stripe.next_ = (stripe.next_ + 1) % stripe.disks_.size();

  Disk& disk = disks_[stripe.disks_[turn]];
  ++disk.allocated_slots;
  peak_slots_ = std::max(peak_slots_, ++slots_in_use_);
  if (counted_in_ != nullptr) *counted_in_ += block_bytes_;
  return {.slot = static_cast<std::uint32_t>(disk.free.take_lowest()), .disk = stripe.disks_[turn]};
}

std::vector<ScratchPlace> ScratchStore::allocate(ScratchStripe& stripe, std::size_t count) {
  constexpr std::size_t kMostSlots = std::numeric_limits<decltype(ScratchPlace::slots)>::max();
  std::vector<ScratchPlace> places;
  std::lock_guard lock(mutex_);
  const std::size_t next = stripe.next_;
  for (std::size_t i = 0; i < count; ++i) {
    stripe.next_ = next;
    const ScratchPlace place = allocate_one(stripe);
    const bool follows = !places.empty() && places.back().disk == place.disk &&
                         places.back().slots < kMostSlots &&
                         places.back().slot + places.back().slots == place.slot;
    const Disk& disk = disks_[place.disk];
    if (follows && file_of(disk, place.slot - 1) == file_of(disk, place.slot)) {
      ++places.back().slots;
    } else {
      places.push_back(place);
    }
  }
  return places;
}

void ScratchStore::release(ScratchPlace place) {
  std::lock_guard lock(mutex_);
  XXL_CHECK(place.disk < disks_.size());
  SlotSet& free = disks_[place.disk].free;
  XXL_CHECK(place.slot + std::uint64_t{place.slots} <= free.capacity());
  for (std::uint32_t slot = place.slot; slot < place.slot + place.slots; ++slot) {
    XXL_CHECK(!free.contains(slot));
    free.insert(slot);
  }
  slots_in_use_ -= place.slots;
  if (counted_in_ != nullptr) *counted_in_ -= place.slots * block_bytes_;
  if (returning_ == nullptr || returning_->ended) return;
  returning_->waiting.push_back({place.disk, place.slot, place.slot + std::uint64_t{place.slots}});
  returning_->changed.notify_all();
}

void ScratchStore::give_back_released() {
  std::lock_guard lock(mutex_);
  XXL_CHECK(returning_ == nullptr);
  for (const Disk& disk : disks_) {
    if (!space_->gives_back_soon(disk.files.front())) return;
  }
  returning_ = std::make_unique<Returning>();
  for (unsigned d = 0; d < disks(); ++d) {
    const SlotSet& free = disks_[d].free;
    for (std::uint64_t slot = 0; slot < free.capacity(); ++slot) {
      if (!free.contains(slot)) continue;
      const bool follows = slot > 0 && free.contains(slot - 1);
      if (!follows) returning_->waiting.push_back({d, slot, slot});
      ++returning_->waiting.back().end;
    }
  }
  returning_->thread = Thread::try_start([this, &all = *returning_] {
    std::unique_lock held(mutex_);
    for (;;) {
      all.changed.wait(held, [&] { return all.ended || !all.waiting.empty(); });
      if (all.ended) return;
      give_back_waiting(held);
    }
  });
}

// Without the lock, while the file system is at it. Neighbors go back together.
void ScratchStore::give_back_waiting(std::unique_lock<std::mutex>& lock) {
  Returning& all = *returning_;
  std::vector<Returning::Slots> slots = std::exchange(all.waiting, {});
  all.busy = true;
  lock.unlock();
  std::ranges::sort(slots);
  bool can = true;
  for (std::size_t i = 0; i < slots.size() && can; ++i) {
    const auto& [d, first, last] = slots[i];
    if (i + 1 < slots.size() && slots[i + 1].disk == d && slots[i + 1].first == last) {
      slots[i + 1].first = first;
      continue;
    }
    Disk& disk = disks_[d];
    for (std::size_t f = 0; f < disk.files.size() && can; ++f) {
      const std::uint64_t offset = bytes_before(disk, f, first);
      const std::uint64_t bytes = bytes_before(disk, f, last) - offset;
      can = bytes == 0 || space_->give_back(d, disk.files[f], offset, bytes);
    }
  }
  lock.lock();
  all.busy = false;
  if (!can) all.ended = true;  // the file system takes it back at the end
  all.changed.notify_all();
}

bool ScratchStore::wait_until_given_back() {
  std::unique_lock lock(mutex_);
  const auto is_under_way = [&all = returning_] {
    return all != nullptr && !all->ended && (all->busy || !all->waiting.empty());
  };
  if (!is_under_way()) return false;
  while (is_under_way()) {
    returning_->thread ? returning_->changed.wait(lock) : give_back_waiting(lock);
  }
  return true;
}

const File& ScratchStore::file(ScratchPlace place) const {
  const Disk& disk = disks_[place.disk];
  return disk.files[file_of(disk, place.slot)];
}

std::uint64_t ScratchStore::offset(ScratchPlace place) const {
  const Disk& disk = disks_[place.disk];
  return bytes_before(disk, file_of(disk, place.slot), place.slot);
}

std::size_t ScratchStore::file_of(const Disk& disk, std::uint64_t slot) const {
  return slot / stretch_slots_ % disk.files.size();
}

// The bytes of `file` that lie before `slot`.
std::uint64_t ScratchStore::bytes_before(const Disk& disk, std::size_t file,
                                         std::uint64_t slot) const {
  const std::uint64_t turn = stretch_slots_ * disk.files.size();
  const std::uint64_t others = std::min(slot % turn, stretch_slots_ * file);
  const std::uint64_t here = std::min(slot % turn - others, stretch_slots_);
  return (slot / turn * stretch_slots_ + here) * block_bytes_;
}

std::span<const File> ScratchStore::files(unsigned disk) const {
  return disks_[disk].files;
}

unsigned ScratchStore::disks() const {
  return static_cast<unsigned>(disks_.size());
}

const std::string& ScratchStore::directory(unsigned disk) const {
  return disks_[disk].directory;
}

std::uint64_t ScratchStore::allocated_bytes(unsigned disk) const {
  return bytes_of(disks_[disk].allocated_slots);
}

// Slots that the free space of the disk's device has room for.
std::uint64_t ScratchStore::room_slots(unsigned disk) const {
  return space_->free_bytes(disk, disks_[disk].directory) / block_bytes_;
}

// Others may need the space, too, above all the output: little more is taken than needed. A refusal
// may mean that there is less than the file system says.
void ScratchStore::grow() {
  std::uint64_t wanted =
      std::clamp(slots_ * block_bytes_ / 8, kMinGrowBytes, kMaxGrowBytes) / block_bytes_;
  wanted = std::max<std::uint64_t>(wanted, turns_.size());
  for (;; wanted /= 2) {
    const std::vector<std::uint64_t> growth = plan_growth(wanted, {});
    const std::uint64_t slots = std::reduce(growth.begin(), growth.end());
    if (slots == 0) throw_no_space(block_bytes_, {});
    const std::uint64_t before = slots_;
    try {
      return add_slots(slots);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_space) throw;
      if (slots_ > before) return;  // it got some
      if (wanted == 1) throw;
    }
  }
}

// How many slots to add on each disk so that `slots` are added in all, or as many as there is room
// for. limit[d], where given, is the most that disk d's device can take.
//
// Each round deals what is left to the disks with room, by weight; a device that is too small for
// its share drops out and its part is dealt again. 12 slots on three disks with room 10, 2, 10:
// round one 4 2 4, round two +1 - +1.
std::vector<std::uint64_t> ScratchStore::plan_growth(
    std::uint64_t slots, const std::vector<std::uint64_t>& limit) const {
  std::map<dev_t, std::uint64_t> room;
  for (unsigned d = 0; d < disks(); ++d) {
    const std::uint64_t most = limit.empty() ? std::numeric_limits<std::uint64_t>::max() : limit[d];
    const std::uint64_t here = std::min(room_slots(d), most);
    const auto [device, fresh] = room.try_emplace(disks_[d].device, here);
    if (!fresh) device->second = std::min(device->second, here);
  }

  std::vector<std::uint64_t> growth(disks_.size(), 0);
  std::uint64_t left = slots;
  while (left > 0) {
    std::uint64_t turns = 0;
    for (const Disk& disk : disks_) turns += room[disk.device] > 0 ? disk.turns : 0;
    if (turns == 0) break;
    const std::uint64_t slots_per_turn = std::max<std::uint64_t>(left / turns, 1);
    for (unsigned d = 0; d < disks(); ++d) {
      std::uint64_t& here = room[disks_[d].device];
      const std::uint64_t share = std::min({left, slots_per_turn * disks_[d].turns, here});
      growth[d] += share;
      here -= share;
      left -= share;
    }
  }
  return growth;
}

// Reserves `slots` more. The file system has the last word on what it has room for: a disk that
// refuses (a quota, or another writer was faster) is asked for half as much, the others for the
// rest.
void ScratchStore::add_slots(std::uint64_t slots) {
  std::vector<std::uint64_t> limit(disks_.size(), std::numeric_limits<std::uint64_t>::max());
  std::string refusal;
  while (slots > 0) {
    const std::vector<std::uint64_t> growth = plan_growth(slots, limit);
    if (std::reduce(growth.begin(), growth.end()) < slots)
      throw_no_space(slots * block_bytes_, refusal);
    for (unsigned d = 0; d < disks(); ++d) {
      Disk& disk = disks_[d];
      if (growth[d] == 0) continue;
      XXL_CHECK(disk.free.capacity() + growth[d] <= std::numeric_limits<std::uint32_t>::max());
      try {
        const auto workers =
            static_cast<unsigned>(ceil_div(growth[d] * block_bytes_, kBytesOfWorker));
        run_numbered(workers, disk.files.size(), [&](unsigned, std::size_t f) {
          const std::uint64_t offset = bytes_before(disk, f, disk.free.capacity());
          const std::uint64_t end = bytes_before(disk, f, disk.free.capacity() + growth[d]);
          space_->reserve(d, disk.files[f], offset, end - offset);
        });
      } catch (const Error& error) {
        if (error.code() != ErrorCode::no_space) throw;
        refusal = error.what();
        limit[d] = growth[d] / 2;
        continue;
      }
      disk.free.grow(growth[d]);
      slots_ += growth[d];
      slots -= growth[d];
    }
  }
}

void ScratchStore::throw_no_space(std::uint64_t wanted_bytes, const std::string& refusal) const {
  std::string message = "not enough scratch space: ";
  message += format_bytes(wanted_bytes);
  message += slots_ == 0
                 ? " needed"
                 : " more needed than the " + format_bytes(slots_ * block_bytes_) + " reserved";
  for (unsigned d = 0; d < disks(); ++d) {
    message += d == 0 ? "; free: " : ", ";
    message +=
        format_bytes(space_->free_bytes(d, disks_[d].directory)) + " in " + disks_[d].directory;
  }
  if (!refusal.empty()) message += " (" + refusal + ")";
  throw Error(ErrorCode::no_space, message);
}

}  // namespace xxl::io
