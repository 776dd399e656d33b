// How many files may be open: a process has a limit of descriptors (ulimit -n), inputs may be more.
#pragma once

#include <cstddef>
#include <cstdint>

namespace xxl::io {

// Descriptors that this process could still open, counted up to `most`.
std::size_t free_descriptors(std::size_t most);

// How many parts of an output may be open at a time, at least one. Lets this process open as many
// files as it may at all: libraries that cannot live with large descriptors are the reason why it
// usually may not, and none of these is used.
std::size_t allow_part_files();

// Of `files` that are read one after the other, how many should be open at a time, at least one:
// allows reading ahead in small files, and leaves most descriptors to others.
std::size_t files_to_read_ahead(std::size_t files);

// What the queues of an IoService may open, and an output.
constexpr std::size_t kQueueDescriptors = 16;

// Of `files` that are merged, how many can be open at a time, at least two: `others` descriptors
// are needed beside them.
std::size_t files_to_merge(std::size_t files, std::size_t others);

// The position of standard input, to read it once more: readers leave it at its end.
class StandardInputPlace {
 public:
  StandardInputPlace();
  // Does nothing for a pipe.
  void restore() const;

 private:
  std::int64_t offset_;
};

}  // namespace xxl::io
