// The records of one input that have one key, kept to be read repeatedly: in memory as long as they
// fit, else in an unnamed file.
//
//     memory   [ half A: being filled | half B: filled next, or read into ]
//     file     [block 0][block 1][block 2] ...      whole records, each as its length and its bytes
//
// Nothing is written as long as both halves suffice. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "run/general_run.h"

namespace xxl {

class GroupStore {
 public:
  // `memory` (aligned to sectors, two of them at least) is the caller's and must outlive the store.
  // The file is made in `directory` when it is first needed.
  GroupStore(std::span<std::byte> memory, std::string directory);

  // Adds a record; it is copied. Throws Error if the file cannot be made or written.
  void append(std::string_view record);
  // Forgets all records.
  void clear();

  std::uint64_t records() const { return records_; }
  // Bytes written to the file, by all groups so far.
  std::uint64_t spilled_bytes() const { return spilled_bytes_; }
  // Bytes that the file takes.
  std::uint64_t file_bytes() const { return file_bytes_; }

  // Calls visit(record) for each record in the order in which they were added. Its argument is
  // valid during the call. Throws Error, also Error{corrupt} if the file is not as it was written.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) visit_coded(load(i), visit);
    for (const Half& half : halves_) visit_coded(half.memory.first(half.used), visit);
  }

 private:
  struct Half {
    std::span<std::byte> memory;
    std::size_t used = 0;
  };
  struct SpilledBlock {
    std::uint64_t offset;
    std::size_t bytes;
    std::uint64_t checksum;
  };
  using HeapBytes = std::unique_ptr<std::byte, decltype(&std::free)>;

  template <class Visit>
  static void visit_coded(std::span<const std::byte> bytes, Visit& visit) {
    const char* at = reinterpret_cast<const char*>(bytes.data());
    const char* const end = at + bytes.size();
    while (at < end) {
      const std::string_view record = coded_record(at);
      at = record.data() + record.size();
      visit(record);
    }
  }

  void append_long(std::string_view record);
  void spill(std::span<const std::byte> bytes);
  std::span<const std::byte> load(std::size_t block);

  Half halves_[2];
  std::size_t filling_ = 0;
  std::string directory_;
  std::optional<io::File> file_;
  std::vector<SpilledBlock> blocks_;
  std::uint64_t end_ = 0;  // of what is in the file
  std::uint64_t records_ = 0;
  std::uint64_t spilled_bytes_ = 0;
  std::uint64_t file_bytes_ = 0;
  HeapBytes long_block_{nullptr, &std::free};  // a block that is longer than a half
  std::size_t long_bytes_ = 0;
};

}  // namespace xxl
