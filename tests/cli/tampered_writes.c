// For LD_PRELOAD: one of the writes below a directory goes wrong, and nobody is told.
//
//   TAMPER_DIRECTORY  where the files are that are written to
//   TAMPER_FAULT      flip, lose, misplace or tear: a bit flips, nothing is written, it goes to the
//                     place before or behind its own, or the last part of it stays zeros
//   TAMPER_AT         the number of that write, from 1; 0: none
//   TAMPER_COUNT      a file that gets a byte for each write
//
// Writes of nothing but zeros do not count: what a new file has at its place is the same.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef ssize_t Write(int, const void*, size_t, off64_t);

static const size_t kAlignment = 4096;
static atomic_ulong seen;

static int is_below(int fd, const char* directory) {
  char name[64], path[4096];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(name, path, sizeof path - 1);
  const size_t prefix = strlen(directory);
  return length > (ssize_t)prefix && memcmp(path, directory, prefix) == 0 && path[prefix] == '/';
}

static void count(const char* path) {
  const int fd = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (fd < 0 || write(fd, ".", 1) != 1) abort();
  close(fd);
}

static size_t bytes_of_content(const char* data, size_t bytes) {
  while (bytes > 0 && data[bytes - 1] == 0) --bytes;
  return bytes;
}

// `data` is not all zeros.
static ssize_t write_wrongly(Write* real, int fd, const void* data, size_t bytes, off64_t offset) {
  const char* fault = getenv("TAMPER_FAULT");
  if (strcmp(fault, "lose") == 0) return (ssize_t)bytes;
  if (strcmp(fault, "misplace") == 0) {
    return real(fd, data, bytes, offset >= (off64_t)bytes ? offset - (off64_t)bytes : offset + (off64_t)bytes);
  }
  char* copy = NULL;
  if (posix_memalign((void**)&copy, kAlignment, bytes) != 0) abort();
  memcpy(copy, data, bytes);
  const size_t content = bytes_of_content(data, bytes);
  if (strcmp(fault, "flip") == 0) {
    copy[(content - 1) * 2 / 3] ^= 0x10;
  } else {
    const size_t kept = content / 2 >= 512 ? content / 2 / 512 * 512 : content / 2;
    memset(copy + kept, 0, bytes - kept);
  }
  const ssize_t written = real(fd, copy, bytes, offset);
  free(copy);
  return written;
}

static ssize_t write_or_tamper(const char* name, int fd, const void* data, size_t bytes, off64_t offset) {
  Write* const real = (Write*)dlsym(RTLD_NEXT, name);
  const char* const directory = getenv("TAMPER_DIRECTORY");
  const int counts = directory != NULL && bytes_of_content(data, bytes) > 0 && is_below(fd, directory);
  if (!counts) return real(fd, data, bytes, offset);
  count(getenv("TAMPER_COUNT"));
  if (atomic_fetch_add(&seen, 1) + 1 != strtoul(getenv("TAMPER_AT"), NULL, 10)) {
    return real(fd, data, bytes, offset);
  }
  return write_wrongly(real, fd, data, bytes, offset);
}

ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  return write_or_tamper("pwrite", fd, data, bytes, offset);
}
ssize_t pwrite64(int fd, const void* data, size_t bytes, off64_t offset) {
  return write_or_tamper("pwrite64", fd, data, bytes, offset);
}
