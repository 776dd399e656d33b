// Newer functions that compilers and headers of today use, made of older ones: for programs that
// are linked for an older glibc (older_glibc.py).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// 2.33: stat and its like. They had other names, and the version of the struct as an argument.

#ifdef __x86_64__
enum { struct_version = 1 };
#else
enum { struct_version = 0 };
#endif
extern int __xstat(int version, const char* path, struct stat* found);
extern int __lxstat(int version, const char* path, struct stat* found);
extern int __fxstat(int version, int file, struct stat* found);
extern int __fxstatat(int version, int folder, const char* path, struct stat* found, int flags);

int stat(const char* restrict path, struct stat* restrict found) {
  return __xstat(struct_version, path, found);
}
int lstat(const char* restrict path, struct stat* restrict found) {
  return __lxstat(struct_version, path, found);
}
int fstat(int file, struct stat* found) {
  return __fxstat(struct_version, file, found);
}
int fstatat(int folder, const char* restrict path, struct stat* restrict found, int flags) {
  return __fxstatat(struct_version, folder, path, found, flags);
}
// With 64 bits they are the same.
int stat64(const char* restrict, struct stat64* restrict) __attribute__((alias("stat")));
int lstat64(const char* restrict, struct stat64* restrict) __attribute__((alias("lstat")));
int fstat64(int, struct stat64*) __attribute__((alias("fstat")));
int fstatat64(int, const char* restrict, struct stat64* restrict, int)
    __attribute__((alias("fstatat")));

// 2.30: waiting until a time of any clock. Before, the time of day was the only one.

int pthread_cond_clockwait(pthread_cond_t* restrict condition, pthread_mutex_t* restrict mutex,
                           clockid_t clock, const struct timespec* restrict until) {
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, until);
  struct timespec now, day;
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &day) != 0) return EINVAL;
  day.tv_sec += until->tv_sec - now.tv_sec;
  day.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (day.tv_nsec < 0) {
    day.tv_nsec += 1000000000;
    --day.tv_sec;
  } else if (day.tv_nsec >= 1000000000) {
    day.tv_nsec -= 1000000000;
    ++day.tv_sec;
  }
  if (day.tv_sec < 0) day.tv_sec = day.tv_nsec = 0;
  return pthread_cond_timedwait(condition, mutex, &day);
}

// 2.32: whether there is one thread only. 0: count as if there were more.

char __libc_single_threaded = 0;

// 2.34: an error where the kernel is older than 5.9.

int close_range(unsigned first, unsigned last, int flags) {
  return (int)syscall(SYS_close_range, first, last, flags);
}

// 2.35: where the unwinder finds what it needs for the object that has `address` in it.

struct Search {
  ElfW(Addr) address;
  struct dl_find_object* found;
};

static int look_into(struct dl_phdr_info* object, size_t size, void* data) {
  (void)size;
  const struct Search* search = data;
  ElfW(Addr) start = 0, end = 0, frames = 0;
  int within = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &object->dlpi_phdr[i];
    const ElfW(Addr) begin = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD) {
      if (end == 0) start = begin;
      end = begin + part->p_memsz;
      within |= search->address >= begin && search->address < end;
    } else if (part->p_type == PT_GNU_EH_FRAME) {
      frames = begin;
    }
  }
  if (!within || frames == 0) return 0;
  *search->found = (struct dl_find_object){
      .dlfo_map_start = (void*)start, .dlfo_map_end = (void*)end, .dlfo_eh_frame = (void*)frames};
  return 1;
}

int _dl_find_object(void* address, struct dl_find_object* found) {
  struct Search search = {(ElfW(Addr))address, found};
  return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}

// 2.36: a random number; used by std::random_device.

uint32_t arc4random(void) {
  uint32_t number;
  while (getentropy(&number, sizeof number) != 0) {
    if (errno != EINTR) __builtin_trap();
  }
  return number;
}
