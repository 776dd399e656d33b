// What is done with the records of a cell, once they are in order (general_merger.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/prefetch.h"
#include "merge/merge_source.h"
#include "merge/record_merge.h"
#include "run/general_run.h"
#include "sort/string_sort.h"

namespace xxl {

// Finds a record by the place of its item: the address of a coded record, or with a bit set a
// record of a resident run.
struct CellAccess {
  static constexpr std::uint64_t kResident = std::uint64_t{1} << 62;
  static constexpr int kSourceShift = 40;  // above the number of the item

  const MergeSource* sources;

  static std::uint64_t coded_place(const char* record) {
    return reinterpret_cast<std::uintptr_t>(record);
  }
  static std::uint64_t resident_place(std::size_t source, std::size_t item) {
    return kResident | std::uint64_t{source} << kSourceShift | item;
  }

  const StringItem& item(std::uint64_t place) const {
    const ResidentRun& run = sources[(place & ~kResident) >> kSourceShift].resident;
    return run.items[place & ((std::uint64_t{1} << kSourceShift) - 1)];
  }
  std::string_view operator()(std::uint64_t place) const {
    if ((place & kResident) == 0) return coded_record(reinterpret_cast<const char*>(place));
    const ResidentRun& run = sources[(place & ~kResident) >> kSourceShift].resident;
    return chunk_record(run.memory, item(place).place());
  }
  // Always inlined: see prefetch_record().
  [[gnu::always_inline]] void prefetch(std::uint64_t place) const {
    const char* const record =
        (place & kResident) == 0 ? reinterpret_cast<const char*>(place) : (*this)(place).data();
    prefetch_record(record);
  }
};

// All records of one side in a cell; once sorted, those of equal keys are marked.
struct CellRecords {
  CellAccess access;
  std::span<const StringItem> items;
  std::uint64_t bytes = 0;  // of the records

  std::size_t size() const { return items.size(); }
  std::string_view operator[](std::size_t i) const { return access(items[i].place()); }
  // Its key is that of the record before.
  bool same_key(std::size_t i) const { return items[i].same_key(); }
};

// Cells are numbered from 0. Each is given to one of take(), stream() and skip(), on a worker,
// several cells in parallel; the work must keep any order that matters. A sort has one side, a join
// two.
class CellWork {
 public:
  virtual ~CellWork() = default;

  // True if streamed records need RecordMerge::same_key().
  virtual bool marks_same() const = 0;
  // False if no further cells are needed: those that still come are skipped. The records are in
  // order once `sort` has been called, which must be; how many there are is known before.
  using Sort = std::function<void()>;
  virtual bool take(std::size_t cell, std::span<const CellRecords> sides, const Sort& sort) = 0;
  // A cell that cannot be held.
  virtual bool stream(std::size_t cell, std::span<RecordMerge> sides) = 0;
  virtual void skip(std::size_t cell) = 0;
};

}  // namespace xxl
