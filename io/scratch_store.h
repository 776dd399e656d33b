// Where runs are stored between being written and being merged: equal slots in unnamed files, one
// file in each scratch directory; several in one in memory, as the kernel lets one thread at a time
// write to a file, or reserve space of it, and both are copying there.
//
// The blocks of a run are dealt out to the disks by randomized cyclic allocation: block i of a run
// goes to disk pi(i mod D), with a fresh random permutation pi for each run. So every run by itself
// is written to all disks in parallel, and the blocks that a merge wants next, which come from many
// runs, are as well spread as if each lay on a random disk (Vitter and Hutchinson, "Distribution
// sort with randomized cycling", JACM 2006; Dementiev and Sanders, SPAA'03, section 2.4).
//
// With three disks, the second of them small and full after two blocks:
//
//   run 0, pi = 2 0 1:   block  0 1 2 | 3 4 5 | 6 7 8
//                        disk   2 0 1 | 2 0 1 | 2 0 2   <- disk 1 is full: the next of pi takes it
//   run 1, pi = 1 2 0:   block  0 1 2
//                        disk   2 2 0
//
// Space is reserved from the file system before blocks are handed out, so that a full disk is found
// when a sort starts and not hours later.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "io/file.h"

namespace xxl::io {

// Names consecutive slots on one disk of a ScratchStore.
struct ScratchPlace {
  std::uint32_t slot = 0;  // the first
  std::uint8_t disk = 0;
  std::uint16_t slots = 1;
  friend bool operator==(const ScratchPlace&, const ScratchPlace&) = default;
};
static_assert(sizeof(ScratchPlace) == 8);

// What a ScratchStore asks of the file system; a seam for tests, which simulate disks of any size.
class ScratchSpace {
 public:
  virtual ~ScratchSpace() = default;
  // Directories on one device share its free space.
  virtual dev_t device(unsigned disk, const File& file) const;
  // Into how many files the slots of a disk go. `file`: the first of them.
  virtual unsigned files(const File& file) const;
  // Free bytes that a sort may take: all but a small margin.
  virtual std::uint64_t free_bytes(unsigned disk, const std::string& directory) const;
  // As File::reserve; of the files of a disk side by side.
  virtual void reserve(unsigned disk, File& file, std::uint64_t offset, std::uint64_t bytes);
  // As the methods of File.
  virtual bool gives_back_soon(const File& file) const;
  virtual bool give_back(unsigned disk, File& file, std::uint64_t offset, std::uint64_t bytes);
};

// The state of one run's allocation: which disks its blocks go to, and whose turn it is.
class ScratchStripe {
 private:
  friend class ScratchStore;
  std::vector<std::uint8_t> disks_;  // pi, a disk of k times the speed k times
  std::size_t next_ = 0;
};

// All methods from any thread; a stripe is for one thread at a time.
class ScratchStore {
 public:
  static constexpr unsigned kMaxDisks = 256;
  // How much is reserved at once when unreserved blocks are needed: an eighth of what there is,
  // within these bounds.
  static constexpr std::uint64_t kMinGrowBytes = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kMaxGrowBytes = std::uint64_t{256} << 20;

  // `directories`: 1..kMaxDisks of them; one may be named twice, and several may share a device.
  // `block_bytes`: a multiple of kSectorBytes. `seed`: of the permutations. `weights`: relative
  // speeds of the disks, above 0; empty for equal ones. A disk gets blocks and space in proportion,
  // in steps of 1/8 of the fastest disk's share, at least one step.
  // Throws Error{io} when a directory cannot be written.
  ScratchStore(std::vector<std::string> directories, std::size_t block_bytes, std::uint64_t seed,
               const std::vector<double>& weights = {},
               std::unique_ptr<ScratchSpace> space = std::make_unique<ScratchSpace>());
  // For reading only: `files` has the files of each disk, which another process has written.
  ScratchStore(std::vector<std::vector<File>> files, std::size_t block_bytes);
  ScratchStore(const ScratchStore&) = delete;
  ScratchStore& operator=(const ScratchStore&) = delete;
  ~ScratchStore();

  // Ensures that `bytes` of blocks can be in use at a time, including those in use now. New space
  // is spread over the disks by weight; a device with less free space than its share gives what it
  // has, and the others the rest. Throws Error{no_space} that names every directory with its free
  // bytes, at once when the free bytes do not suffice.
  void reserve(std::uint64_t bytes);

  // From now on adds to `bytes` what is in use, until destruction. It may be null; must outlive the
  // store. Call before the first allocation.
  void count_in(std::atomic<std::uint64_t>* bytes) { counted_in_ = bytes; }

  // Begins a run.
  ScratchStripe new_stripe();

  // The next block of the run: on the disk whose turn it is, or the next disk of the permutation
  // that has a free slot; in the lowest free slot there. Without any free slot, space grows
  // within the bounds above, or by what is left. Throws Error{no_space} when there is none.
  ScratchPlace allocate(ScratchStripe& stripe);

  // The next `count` slots of the run for one unit of data: on the disk whose turn it is, as far as
  // it has free slots. Each place is of as many slots as follow one another in a file.
  std::vector<ScratchPlace> allocate(ScratchStripe& stripe, std::size_t count);

  // Frees all slots of `place`. They are used again by a later allocate().
  void release(ScratchPlace place);

  // After the last allocate(): from now on, what is released goes back to the file system, by a
  // thread of the store. So space is there for the output, and the end of the store does not wait
  // until the file system has taken back all of it. Not where File::gives_back_soon() is false for
  // a directory.
  void give_back_released();
  // Waits until what has been released is given back. False if nothing was under way.
  bool wait_until_given_back();

  const File& file(ScratchPlace place) const;
  // Place of the block in its file, in bytes.
  std::uint64_t offset(ScratchPlace place) const;

  std::size_t block_bytes() const { return block_bytes_; }
  unsigned disks() const;
  std::span<const File> files(unsigned disk) const;
  const std::string& directory(unsigned disk) const;
  std::uint64_t reserved_bytes() const { return bytes_of(slots_); }
  std::uint64_t bytes_in_use() const { return bytes_of(slots_in_use_); }
  std::uint64_t peak_bytes() const { return bytes_of(peak_slots_); }
  // Number of blocks handed out on `disk` so far, including reused ones.
  std::uint64_t allocated_bytes(unsigned disk) const;

 private:
  struct Disk;
  struct Returning;

  // Of one of the counts below, read with the lock.
  std::uint64_t bytes_of(const std::uint64_t& slots) const {
    std::lock_guard lock(mutex_);
    return slots * block_bytes_;
  }
  std::size_t file_of(const Disk& disk, std::uint64_t slot) const;
  std::uint64_t bytes_before(const Disk& disk, std::size_t file, std::uint64_t slot) const;
  // With the lock held:
  ScratchPlace allocate_one(ScratchStripe& stripe);
  std::uint64_t room_slots(unsigned disk) const;
  std::vector<std::uint64_t> plan_growth(std::uint64_t slots,
                                         const std::vector<std::uint64_t>& limit) const;
  void grow();
  void add_slots(std::uint64_t slots);
  void give_back_waiting(std::unique_lock<std::mutex>& lock);
  [[noreturn]] void throw_no_space(std::uint64_t wanted_bytes, const std::string& refusal) const;

  std::size_t block_bytes_;
  // So many follow one another in a file of a disk, then the next file has its turn: few enough
  // that writers of neighboring blocks use different files.
  const std::uint64_t stretch_slots_ = std::max<std::uint64_t>(1, (2 << 20) / block_bytes_);
  std::unique_ptr<ScratchSpace> space_;
  std::vector<Disk> disks_;
  mutable std::mutex mutex_;         // of what changes below, and of the disks' free slots
  std::vector<std::uint8_t> turns_;  // every disk as often as its weight says; pi before shuffling
  Random random_;
  std::uint64_t slots_ = 0;  // reserved on all disks
  std::uint64_t slots_in_use_ = 0;
  std::uint64_t peak_slots_ = 0;
  std::atomic<std::uint64_t>* counted_in_ = nullptr;
  std::unique_ptr<Returning> returning_;  // last: its thread uses the rest
};

}  // namespace xxl::io
