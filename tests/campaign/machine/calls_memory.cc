// What the program calls for memory, instead of the C library's.
#include <malloc.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "machine.h"
#include "real.h"

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* data, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* data);
}

namespace {

using namespace xxl::machine;

bool is_refused(Machine& m, Operation operation, std::size_t bytes) {
  return m.effect(Role::other, operation).kind == Effect::error || !m.memory.has_room(bytes);
}

// Before and after `allocate`.
template <class Allocate>
void* allocated(std::size_t bytes, void* before, Allocate allocate) {
  Machine* const m = machine();
  if (m == nullptr) return allocate();
  const Inside inside;
  if (is_refused(*m, Operation::heap, bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  const std::size_t had = before == nullptr ? 0 : malloc_usable_size(before);
  void* const data = allocate();
  if (data == nullptr) return nullptr;
  m->memory.gave_back(had);
  m->memory.took(malloc_usable_size(data));
  return data;
}

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) noexcept {
  return allocated(bytes, nullptr, [&] { return __libc_malloc(bytes); });
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return allocated(count * bytes, nullptr, [&] { return __libc_calloc(count, bytes); });
}
void* realloc(void* data, std::size_t bytes) noexcept {
  return allocated(bytes, data, [&] { return __libc_realloc(data, bytes); });
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return allocated(bytes, nullptr, [&] { return __libc_memalign(alignment, bytes); });
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return memalign(alignment, bytes);
}
int posix_memalign(void** data, std::size_t alignment, std::size_t bytes) noexcept {
  *data = memalign(alignment, bytes);
  return *data == nullptr ? ENOMEM : 0;
}
void free(void* data) noexcept {
  if (data == nullptr) return;
  if (Machine* const m = machine()) m->memory.gave_back(malloc_usable_size(data));
  __libc_free(data);
}

void* mmap(void* address, std::size_t bytes, int protection, int flags, int fd,
           off_t offset) noexcept {
  Machine* const m = machine();
  const bool is_counted = m != nullptr && (flags & MAP_ANONYMOUS) != 0;
  if (is_counted && is_refused(*m, Operation::map, bytes)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  const long result = real_syscall(SYS_mmap, reinterpret_cast<long>(address),
                                   static_cast<long>(bytes), protection, flags, fd, offset);
  if (is_counted && result >= 0) {
    const Inside inside;
    m->memory.mapped(static_cast<std::uint64_t>(result), bytes);
  }
  return reinterpret_cast<void*>(with_errno(result));
}

int munmap(void* address, std::size_t bytes) noexcept {
  if (Machine* const m = machine()) {
    const Inside inside;
    m->memory.unmapped(reinterpret_cast<std::uint64_t>(address), bytes);
  }
  return static_cast<int>(with_errno(
      real_syscall(SYS_munmap, reinterpret_cast<long>(address), static_cast<long>(bytes))));
}

}  // extern "C"
