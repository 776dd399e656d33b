#include "memory_files.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/thread.h"

namespace xxl::bench {
namespace {

#if defined(__SSE2__)
// Whole lines are written past the caches; what is before the first and behind the last one, as
// usual.
void stream_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  const auto misaligned = reinterpret_cast<std::uintptr_t>(to) % kLine;
  const std::size_t head = std::min(bytes, misaligned == 0 ? 0 : kLine - misaligned);
  std::memcpy(to, from, head);
  to += head, from += head, bytes -= head;
  for (; bytes >= kLine; to += kLine, from += kLine, bytes -= kLine) {
    const auto* const source = reinterpret_cast<const __m128i*>(from);
    auto* const target = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  std::memcpy(to, from, bytes);
  _mm_sfence();  // before anybody is told
}
#else
void stream_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}
#endif

}  // namespace

void copy_bytes(CopyKind kind, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (kind == CopyKind::streaming) return stream_bytes(to, from, bytes);
  std::memcpy(to, from, bytes);
}

ExtentPool::ExtentPool(std::uint64_t bytes, unsigned threads)
    : memory_(round_up<std::uint64_t>(bytes, kExtentBytes)) {
  const std::size_t extents = memory_.size() / kExtentBytes;
  std::atomic<std::size_t> next{0};
  run_threads(threads, [&](unsigned, const std::atomic<bool>&) {
    for (std::size_t i; (i = next++) < extents;) {
      std::memset(memory_.data() + i * kExtentBytes, 0, kExtentBytes);
    }
  });
  for (std::size_t i = extents; i > 0; --i) {
    free_.push_back(memory_.data() + (i - 1) * kExtentBytes);
  }
}

std::byte* ExtentPool::take() {
  std::lock_guard lock(mutex_);
  if (free_.empty()) return nullptr;
  std::byte* const extent = free_.back();
  free_.pop_back();
  return extent;
}

void ExtentPool::give_back(std::byte* extent) {
  std::lock_guard lock(mutex_);
  free_.push_back(extent);
}

std::size_t ExtentPool::free_extents() const {
  std::lock_guard lock(mutex_);
  return free_.size();
}

MemoryFile::~MemoryFile() {
  for (const Extent& extent : extents_) {
    if (extent.memory != nullptr) pool_.give_back(extent.memory);
  }
}

std::byte* MemoryFile::find(std::size_t index) const {
  std::lock_guard lock(mutex_);
  return index < extents_.size() ? extents_[index].memory : nullptr;
}

std::byte* MemoryFile::find_or_take(std::size_t index) {
  std::lock_guard lock(mutex_);
  if (index >= extents_.size()) extents_.resize(index + 1);
  if (extents_[index].memory == nullptr) extents_[index].memory = pool_.take();
  return extents_[index].memory;
}

void MemoryFile::note_read(std::size_t index, std::size_t bytes) {
  const std::uint64_t begin = std::uint64_t{index} * kExtentBytes;
  const std::uint64_t all = std::min<std::uint64_t>(*size_ - begin, kExtentBytes);
  std::lock_guard lock(mutex_);
  Extent& extent = extents_[index];
  extent.bytes_read += bytes;
  if (extent.bytes_read == all) pool_.give_back(std::exchange(extent.memory, nullptr));
}

io::Completion MemoryFile::read(std::uint64_t offset, std::span<std::byte> to) {
  io::Completion completion;
  if (size_) to = to.first(std::min<std::uint64_t>(to.size(), *size_ - std::min(offset, *size_)));
  while (!to.empty()) {
    const std::size_t index = offset / kExtentBytes, place = offset % kExtentBytes;
    const std::size_t bytes = std::min(to.size(), kExtentBytes - place);
    const std::byte* const memory = find(index);
    if (memory != nullptr) {
      copy_bytes(copy_, to.data(), memory + place, bytes);
    } else if (forgets_) {
      completion.error = EIO;  // a second time
      break;
    } else {
      std::memset(to.data(), 0, bytes);
    }
    if (forgets_) note_read(index, bytes);
    to = to.subspan(bytes);
    offset += bytes;
    completion.bytes += bytes;
  }
  return completion;
}

io::Completion MemoryFile::write(std::uint64_t offset, std::span<const std::byte> from) {
  io::Completion completion;
  while (!from.empty()) {
    const std::size_t index = offset / kExtentBytes, place = offset % kExtentBytes;
    const std::size_t bytes = std::min(from.size(), kExtentBytes - place);
    std::byte* const memory = find_or_take(index);
    if (memory == nullptr) {
      completion.error = ENOSPC;
      break;
    }
    copy_bytes(copy_, memory + place, from.data(), bytes);
    from = from.subspan(bytes);
    offset += bytes;
    completion.bytes += bytes;
  }
  return completion;
}

MemoryFile& MemoryFiles::of(dev_t device, ino_t inode) {
  std::lock_guard lock(mutex_);
  std::unique_ptr<MemoryFile>& file = files_[{device, inode}];
  if (file == nullptr) file = std::make_unique<MemoryFile>(pool_, copy_);
  return *file;
}

void MemoryFiles::keep_only(const io::File& file) {
  std::lock_guard lock(mutex_);
  const Id kept{file.device(), file.inode()};
  std::erase_if(files_, [&](const auto& entry) { return entry.first != kept; });
}

}  // namespace xxl::bench
