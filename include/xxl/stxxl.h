// For programs that were written for STXXL 1.4: its names, over xxl.
//
//   #include <xxl/stxxl.h>      in place of <stxxl/sorter>, <stxxl/stream>, <stxxl/vector>, ...
//
// What is there works as STXXL documents it: sorter, sort, ksort, stream::*, vector with its
// readers and writers, config, stats. Block and page sizes, allocation strategies, pagers and the
// min_value() and max_value() of comparators are accepted and not used. Disks of the configuration
// ($STXXLCFG, .stxxl, config::add_disk) become scratch directories: those that their files would
// lie in. Sorting is done by all processors. What is not there fails to compile, and says so.
//
// Comparators are called from many threads at once; they must be const, and must not throw.
//
// Source of the interface: Dementiev, Kettner and Sanders, "STXXL: standard template library for
// XXL data sets" (Software: Practice and Experience, 2008), and the headers of STXXL 1.4.1.
#pragma once

#ifdef STXXL_VERSION_HEADER
#error "<xxl/stxxl.h> and the headers of STXXL declare the same names: include only one of them"
#endif

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "xxl/sorter.h"

#define STXXL_DEFAULT_BLOCK_SIZE(type) (2 * 1024 * 1024)
#define STXXL_DEFAULT_ALLOC_STRATEGY ::stxxl::striping

namespace stxxl {

using int8 = std::int8_t;
using int16 = std::int16_t;
using int32 = std::int32_t;
using int64 = std::int64_t;
using uint8 = std::uint8_t;
using uint16 = std::uint16_t;
using uint32 = std::uint32_t;
using uint64 = std::uint64_t;
using int_type = std::ptrdiff_t;
using unsigned_type = std::size_t;
using internal_size_type = std::size_t;
using external_size_type = std::uint64_t;
using external_diff_type = std::int64_t;

// Accepted, and not used.
struct striping {};
struct FR {};
struct SR {};
struct RC {};
struct RC_disk {};
struct RC_flash {};
struct fully_random {};
struct simple_random {};
struct random_cyclic {};
struct single_disk {};

// ---- configuration ----

// A disk, which is a file of STXXL's: here only the directory of that file matters.
class disk_config {
 public:
  disk_config() = default;
  // path, size, I/O implementation.
  disk_config(const std::string& path_, uint64 size_, const std::string& io)
      : path(path_), size(size_), io_impl(io) {}
  // disk=PATH,SIZE,IO
  disk_config(const std::string& line) { parse_line(line); }
  disk_config(const char* line) : disk_config(std::string(line)) {}

  // Throws std::runtime_error.
  void parse_line(const std::string& line) {
    const std::size_t equals = line.find('=');
    const std::string kind = line.substr(0, equals);
    if (equals == std::string::npos || (kind != "disk" && kind != "flash")) {
      throw std::runtime_error("not a disk of STXXL's configuration: " + line +
                               ": write disk=PATH,SIZE,IO");
    }
    path = line.substr(equals + 1, line.find(',') - equals - 1);
    path.erase(0, path.find_first_not_of(" \t"));
    path.erase(path.find_last_not_of(" \t\r") + 1);
    if (path.empty())
      throw std::runtime_error("a disk of STXXL's configuration has no path: " + line);
  }
  // Of scratch files.
  std::string directory() const {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return path;
    const std::string parent = std::filesystem::path(path).parent_path().string();
    return parent.empty() ? "." : parent;
  }

  std::string path;
  uint64 size = 0;      // not used
  std::string io_impl;  // not used
  bool autogrow = true;
  bool delete_on_exit = true;
  bool unlink_on_open = true;
  bool flash = false;
  int queue = -1;
  enum direct_type { DIRECT_OFF = 0, DIRECT_TRY = 1, DIRECT_ON = 2 } direct = DIRECT_TRY;
};

// The disks of the process: those of the file that $STXXLCFG names, of ./.stxxl or of ~/.stxxl,
// the first that is there, and those that are added.
class config {
 public:
  static config* get_instance() {
    static config instance;
    return &instance;
  }

  config& add_disk(const disk_config& disk) {
    disks_.push_back(disk);
    return *this;
  }
  std::size_t disks_number() {
    load_default_config();
    return std::max<std::size_t>(disks_.size(), 1);
  }
  disk_config& disk(std::size_t index) { return disks_.at(index); }
  const std::string& disk_path(std::size_t index) const { return disks_.at(index).path; }
  // Scratch directories; none: xxl's own choice.
  std::vector<std::string> directories() {
    load_default_config();
    std::vector<std::string> all;
    for (const disk_config& disk : disks_) {
      const std::string directory = disk.directory();
      if (std::find(all.begin(), all.end(), directory) == all.end()) all.push_back(directory);
    }
    return all;
  }
  // Reads a file of the configuration. Throws std::runtime_error.
  void load_config_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read STXXL's configuration: " + path);
    for (std::string line; std::getline(file, line);) {
      line.erase(0, line.find_first_not_of(" \t"));
      if (!line.empty() && line.front() != '#') add_disk(disk_config(line));
    }
  }

 private:
  config() = default;
  void load_default_config() {
    if (!disks_.empty() || loaded_) return;
    loaded_ = true;
    if (const char* given = std::getenv("STXXLCFG")) return load_config_file(given);
    const char* home = std::getenv("HOME");
    std::error_code error;
    for (const std::string& path :
         {std::string(".stxxl"), std::string(home != nullptr ? home : "") + "/.stxxl"}) {
      if (std::filesystem::is_regular_file(path, error)) return load_config_file(path);
    }
  }

  std::vector<disk_config> disks_;
  bool loaded_ = false;
};

namespace detail {

inline xxl::resources resources_of(unsigned_type memory) {
  constexpr std::uint64_t kLeast = std::uint64_t{8} << 20;
  return xxl::resources({.memory_bytes = std::max<std::uint64_t>(memory, kLeast),
                         .scratch_dirs = config::get_instance()->directories()});
}

template <class Key, class KeyExtractor>
struct ByExtractedKey {
  KeyExtractor key;
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return key(a) < key(b);
  }
};

template <class>
inline constexpr bool kNever = false;

[[noreturn]] inline void throw_errno(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

inline external_size_type bytes_of_file(int descriptor) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0) throw_errno("cannot examine a file");
  return static_cast<external_size_type>(status.st_size);
}

inline int write_protection(int descriptor) {
  return (::fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_RDONLY ? 0 : PROT_WRITE;
}

// A file without a name in the next one of the scratch directories.
inline int open_unnamed() {
  static std::atomic<std::size_t> opened = 0;
  const xxl::resources all(
      {.memory_bytes = 1, .scratch_dirs = config::get_instance()->directories()});
  const auto& directories = all.options().scratch_dirs;
  const std::string& directory = directories[opened++ % directories.size()];
  int descriptor = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    std::string name = directory + "/.xxl-XXXXXX";
    descriptor = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor >= 0) ::unlink(name.c_str());
  }
  if (descriptor < 0) throw_errno("cannot create a file in " + directory);
  return descriptor;
}

inline void write_all(int descriptor, const void* data, std::size_t bytes, external_size_type at) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = ::pwrite(descriptor, from, bytes, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw_errno("cannot write a vector");
    from += done;
    bytes -= static_cast<std::size_t>(done);
    at += static_cast<external_size_type>(done);
  }
}

inline void read_all(int descriptor, void* data, std::size_t bytes, external_size_type at) {
  char* to = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t done = ::pread(descriptor, to, bytes, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw_errno("cannot read a vector");
    if (done == 0) throw std::runtime_error("cannot read a vector: its file became shorter");
    to += done;
    bytes -= static_cast<std::size_t>(done);
    at += static_cast<external_size_type>(done);
  }
}

}  // namespace detail

// ---- sorter ----

template <class ValueType, class CompareType,
          unsigned BlockSize = STXXL_DEFAULT_BLOCK_SIZE(ValueType),
          class AllocStrategy = STXXL_DEFAULT_ALLOC_STRATEGY>
class sorter {
 public:
  using value_type = ValueType;
  using cmp_type = CompareType;
  using alloc_strategy_type = AllocStrategy;
  using size_type = external_size_type;
  enum { block_size = BlockSize };

  // Memory in bytes.
  sorter(const cmp_type& cmp, unsigned_type memory_to_use)
      : sorter_(cmp, detail::resources_of(memory_to_use), {.repeatable = true}) {}
  sorter(const cmp_type& cmp, unsigned_type creator_memory, unsigned_type merger_memory)
      : sorter(cmp, std::max(creator_memory, merger_memory)) {}
  sorter(const sorter&) = delete;
  sorter& operator=(const sorter&) = delete;

  void push(const value_type& value) { sorter_.push(value); }
  void sort() { sorter_.sort(); }
  void sort(unsigned_type) { sort(); }
  void sort_reuse() { sort(); }
  void rewind() {
    pulled_ = 0;
    sorter_.rewind();
  }
  void clear() {
    pulled_ = 0;
    sorter_.clear();
  }
  void finish() {}
  void finish_clear() { clear(); }
  void set_merger_memory_to_use(unsigned_type) {}

  // Before sort() what was pushed; after it what is left, as in STXXL.
  size_type size() const { return sorter_.size() - pulled_; }
  bool empty() const { return sorter_.empty(); }
  const value_type& operator*() const {
    (void)sorter_.empty();
    return *sorter_;
  }
  const value_type* operator->() const { return &**this; }
  sorter& operator++() {
    (void)sorter_.empty();
    ++sorter_;
    ++pulled_;
    return *this;
  }

 private:
  mutable xxl::sorter<value_type, cmp_type> sorter_;
  size_type pulled_ = 0;
};

// ---- vector ----

class file {
 public:
  enum open_mode {
    RDONLY = 1,
    WRONLY = 2,
    RDWR = 4,
    CREAT = 8,
    DIRECT = 16,
    TRUNC = 32,
    SYNC = 64,
    NO_LOCK = 128,
    REQUIRE_DIRECT = 256
  };
  virtual ~file() = default;
  virtual int descriptor() const = 0;
};

// A file with a name. (It is read and written through the page cache: DIRECT is not used.)
class syscall_file : public file {
 public:
  // Throws std::runtime_error.
  syscall_file(const std::string& path, int mode, int = -1, unsigned = 0) {
    int flags = (mode & RDWR) != 0 ? O_RDWR : (mode & WRONLY) != 0 ? O_RDWR : O_RDONLY;
    if ((mode & CREAT) != 0) flags |= O_CREAT;
    if ((mode & TRUNC) != 0) flags |= O_TRUNC;
    descriptor_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    if (descriptor_ < 0) detail::throw_errno("cannot open " + path);
  }
  ~syscall_file() override { ::close(descriptor_); }
  syscall_file(const syscall_file&) = delete;
  syscall_file& operator=(const syscall_file&) = delete;
  int descriptor() const override { return descriptor_; }
  void set_size(external_size_type bytes) {
    if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0)
      detail::throw_errno("cannot extend a file");
  }
  external_size_type size() const { return detail::bytes_of_file(descriptor_); }

 private:
  int descriptor_;
};

template <unsigned NPages = 8>
struct lru_pager {};
template <unsigned NPages = 8>
struct random_pager {};
enum pager_type { random, lru };

template <class Vector, bool kConst>
class vector_iterator_of {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = typename Vector::value_type;
  using difference_type = external_diff_type;
  using reference = std::conditional_t<kConst, const value_type&, value_type&>;
  using pointer = std::conditional_t<kConst, const value_type*, value_type*>;
  using vector_type = std::conditional_t<kConst, const Vector, Vector>;

  vector_iterator_of() = default;
  vector_iterator_of(vector_type* vector, external_size_type index)
      : vector_(vector), index_(index) {}
  operator vector_iterator_of<Vector, true>() const { return {vector_, index_}; }

  vector_type* parent_vector() const { return vector_; }
  external_size_type index() const { return index_; }
  reference operator*() const { return (*vector_)[index_]; }
  pointer operator->() const { return &**this; }
  reference operator[](difference_type i) const { return *(*this + i); }
  vector_iterator_of& operator++() { return *this += 1; }
  vector_iterator_of& operator--() { return *this -= 1; }
  vector_iterator_of operator++(int) { return std::exchange(*this, *this + 1); }
  vector_iterator_of operator--(int) { return std::exchange(*this, *this - 1); }
  vector_iterator_of& operator+=(difference_type i) {
    index_ += static_cast<external_size_type>(i);
    return *this;
  }
  vector_iterator_of& operator-=(difference_type i) { return *this += -i; }
  vector_iterator_of operator+(difference_type i) const { return vector_iterator_of(*this) += i; }
  friend vector_iterator_of operator+(difference_type i, const vector_iterator_of& it) {
    return it + i;
  }
  vector_iterator_of operator-(difference_type i) const { return vector_iterator_of(*this) -= i; }
  difference_type operator-(const vector_iterator_of& other) const {
    return static_cast<difference_type>(index_ - other.index_);
  }
  friend bool operator==(const vector_iterator_of& a, const vector_iterator_of& b) {
    return a.index_ == b.index_;
  }
  friend auto operator<=>(const vector_iterator_of& a, const vector_iterator_of& b) {
    return a.index_ <=> b.index_;
  }
  void flush() const {}
  void block_externally_updated() const {}

 private:
  vector_type* vector_ = nullptr;
  external_size_type index_ = 0;
};

// An array in a file: one without a name in a scratch directory, or a given one, which keeps what
// is written when the vector is destroyed. What is appended is written in large blocks; elements
// are reached by mapping the file into memory, of which the system keeps as much as there is room
// for.
template <class ValueType, unsigned PageSize = 4, class PagerType = lru_pager<8>,
          unsigned BlockSize = STXXL_DEFAULT_BLOCK_SIZE(ValueType),
          class AllocStrategy = STXXL_DEFAULT_ALLOC_STRATEGY, class SizeType = external_size_type>
class vector {
  static_assert(std::is_trivially_copyable_v<ValueType>);

 public:
  using value_type = ValueType;
  using reference = value_type&;
  using const_reference = const value_type&;
  using pointer = value_type*;
  using const_pointer = const value_type*;
  using size_type = SizeType;
  using difference_type = external_diff_type;
  using iterator = vector_iterator_of<vector, false>;
  using const_iterator = vector_iterator_of<vector, true>;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  enum { block_size = BlockSize, page_size = PageSize };

  explicit vector(size_type n = 0, unsigned_type = 0)
      : descriptor_(detail::open_unnamed()), owns_(true) {
    resize(n);
  }
  // `from` must outlive it. By default all that the file has.
  explicit vector(file* from, size_type n = size_type(-1), unsigned_type = 0)
      : descriptor_(from->descriptor()) {
    size_ = written_ = opened_size_ = detail::bytes_of_file(descriptor_) / sizeof(value_type);
    if (n != size_type(-1)) resize(n);
  }
  vector(const vector& other) : vector() {
    other.for_each_block(
        0, other.size_, [this](const value_type* data, std::size_t count) { append(data, count); });
  }
  vector& operator=(const vector& other) {
    if (this != &other) vector(other).swap(*this);
    return *this;
  }
  ~vector() {
    if (!owns_) {
      try {
        flush();
        if (size_ != opened_size_) {
          (void)!::ftruncate(descriptor_, static_cast<off_t>(size_ * sizeof(value_type)));
        }
      } catch (const std::exception&) {  // as STXXL: who wants to know calls flush()
      }
    }
    unmap();
    if (owns_) ::close(descriptor_);
  }
  void swap(vector& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(owns_, other.owns_);
    std::swap(size_, other.size_);
    std::swap(written_, other.written_);
    std::swap(tail_, other.tail_);
    std::swap(map_, other.map_);
    std::swap(mapped_, other.mapped_);
    std::swap(reserved_, other.reserved_);
    std::swap(opened_size_, other.opened_size_);
  }

  size_type size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_type capacity() const { return size_; }
  void reserve(size_type) {}
  void clear() { resize(0); }
  void resize(size_type n, bool = false) {
    flush();
    if (n > size_ && ::ftruncate(descriptor_, static_cast<off_t>(n * sizeof(value_type))) != 0) {
      detail::throw_errno("cannot extend a vector");
    }
    size_ = written_ = n;
  }
  void push_back(const_reference value) {
    if (tail_.capacity() == 0) tail_.reserve(kBlock);
    tail_.push_back(value);
    ++size_;
    if (tail_.size() == kBlock) flush();
  }
  void pop_back() { resize(size_ - 1); }

  reference operator[](size_type i) { return *element(i); }
  const_reference operator[](size_type i) const { return *element(i); }
  reference at(size_type i) {
    if (i >= size_) throw std::out_of_range("stxxl::vector::at");
    return *element(i);
  }
  const_reference at(size_type i) const { return const_cast<vector*>(this)->at(i); }
  reference front() { return *element(0); }
  const_reference front() const { return *element(0); }
  reference back() { return *element(size_ - 1); }
  const_reference back() const { return *element(size_ - 1); }

  iterator begin() { return {this, 0}; }
  iterator end() { return {this, size_}; }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size_}; }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  reverse_iterator rbegin() { return reverse_iterator(end()); }
  reverse_iterator rend() { return reverse_iterator(begin()); }
  const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }

  // Writes what was appended. Throws std::runtime_error.
  void flush() const {
    if (tail_.empty()) return;
    detail::write_all(descriptor_, tail_.data(), tail_.size() * sizeof(value_type),
                      written_ * sizeof(value_type));
    written_ += tail_.size();
    tail_.clear();
  }

  // Calls use(data, count) for elements [first, last) in order, some thousand at a time.
  template <class Use>
  void for_each_block(external_size_type first, external_size_type last, Use&& use) const {
    flush();
    std::vector<value_type> block(
        static_cast<std::size_t>(std::min<external_size_type>(kBlock, last - first)));
    while (first < last) {
      const auto count =
          static_cast<std::size_t>(std::min<external_size_type>(block.size(), last - first));
      detail::read_all(descriptor_, block.data(), count * sizeof(value_type),
                       first * sizeof(value_type));
      use(static_cast<const value_type*>(block.data()), count);
      first += count;
    }
  }
  // Overwrites elements from `first` on.
  void write(external_size_type first, const value_type* data, std::size_t count) {
    flush();
    detail::write_all(descriptor_, data, count * sizeof(value_type), first * sizeof(value_type));
  }
  void append(const value_type* data, std::size_t count) {
    write(size_, data, count);
    size_ = written_ = size_ + count;
  }

  class bufreader_type;
  class bufwriter_type;

 private:
  static constexpr std::size_t kBlock =
      std::max<std::size_t>(1, (std::size_t{1} << 20) / sizeof(value_type));

  static constexpr std::size_t kAddresses = std::size_t{1} << 38;

  value_type* element(external_size_type i) const {
    if (i >= written_) flush();
    if (i >= mapped_) map();
    return map_ + i;
  }
  // In an address range that is larger than the file: when the vector grows, elements stay where
  // they are, as long as there is room.
  void map() const {
    flush();
    const std::size_t bytes = written_ * sizeof(value_type);
    if (bytes > reserved_) {
      unmap();
      reserve_addresses(bytes);
    }
    if (::mmap(map_, bytes, PROT_READ | detail::write_protection(descriptor_),
               MAP_SHARED | MAP_FIXED, descriptor_, 0) == MAP_FAILED) {
      detail::throw_errno("cannot map a vector");
    }
    mapped_ = written_;
  }
  void reserve_addresses(std::size_t bytes) const {
    for (std::size_t room = std::max(bytes, kAddresses);; room = std::max(bytes, room / 2)) {
      void* const memory =
          ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory != MAP_FAILED) {
        map_ = static_cast<value_type*>(memory);
        reserved_ = room;
        return;
      }
      if (room == bytes) detail::throw_errno("cannot map a vector");
    }
  }
  void unmap() const {
    if (map_ != nullptr) ::munmap(map_, reserved_);
    map_ = nullptr;
    mapped_ = 0;
    reserved_ = 0;
  }

  int descriptor_ = -1;
  bool owns_ = false;
  external_size_type size_ = 0;
  mutable external_size_type written_ = 0;  // elements in the file; those of tail_ follow
  mutable std::vector<value_type> tail_;
  mutable value_type* map_ = nullptr;
  mutable external_size_type mapped_ = 0;
  mutable std::size_t reserved_ = 0;    // bytes of addresses from map_ on
  external_size_type opened_size_ = 0;  // of a given file
};

template <class ValueType, unsigned PageSize = 4, unsigned CachePages = 8,
          unsigned BlockSize = STXXL_DEFAULT_BLOCK_SIZE(ValueType),
          class AllocStrategy = STXXL_DEFAULT_ALLOC_STRATEGY, pager_type Pager = lru>
struct VECTOR_GENERATOR {
  using result =
      vector<ValueType, PageSize,
             std::conditional_t<Pager == lru, lru_pager<CachePages>, random_pager<CachePages>>,
             BlockSize, AllocStrategy>;
};

// Reads a stretch of a vector, in order.
template <class VectorIterator>
class vector_bufreader {
 public:
  using value_type = typename VectorIterator::value_type;

  vector_bufreader(VectorIterator begin, VectorIterator end, unsigned_type = 0)
      : begin_(begin), at_(begin), end_(end) {}
  template <class Vector>
  explicit vector_bufreader(const Vector& vector, unsigned_type = 0)
      : vector_bufreader(vector.begin(), vector.end()) {}

  void rewind() { at_ = begin_; }
  bool empty() const { return at_ == end_; }
  external_size_type size() const { return static_cast<external_size_type>(end_ - at_); }
  const value_type& operator*() const { return *at_; }
  const value_type* operator->() const { return &*at_; }
  vector_bufreader& operator++() {
    ++at_;
    return *this;
  }
  vector_bufreader& operator>>(value_type& value) {
    value = *at_;
    ++at_;
    return *this;
  }
  VectorIterator begin() const { return at_; }
  VectorIterator end() const { return end_; }

 private:
  VectorIterator begin_, at_, end_;
};

// Writes a vector in order, which grows where it ends.
template <class VectorIterator>
class vector_bufwriter {
 public:
  using value_type = typename VectorIterator::value_type;
  using vector_type = typename VectorIterator::vector_type;

  explicit vector_bufwriter(VectorIterator begin, unsigned_type = 0)
      : vector_(*begin.parent_vector()), at_(begin.index()) {}
  explicit vector_bufwriter(vector_type& vector, unsigned_type = 0) : vector_(vector) {}
  ~vector_bufwriter() { finish(); }

  vector_bufwriter& operator<<(const value_type& value) {
    if (at_ < vector_.size()) {
      vector_[at_] = value;
    } else {
      vector_.push_back(value);
    }
    ++at_;
    return *this;
  }
  void finish() {}

 private:
  vector_type& vector_;
  external_size_type at_ = 0;
};

template <class V, unsigned P, class G, unsigned B, class A, class S>
class vector<V, P, G, B, A, S>::bufreader_type : public vector_bufreader<const_iterator> {
 public:
  using vector_bufreader<const_iterator>::vector_bufreader;
};
template <class V, unsigned P, class G, unsigned B, class A, class S>
class vector<V, P, G, B, A, S>::bufwriter_type : public vector_bufwriter<iterator> {
 public:
  using vector_bufwriter<iterator>::vector_bufwriter;
};

// Sorts [first, last) of a vector by a comparator.
template <class VectorIterator, class StrictWeakOrdering>
void sort(VectorIterator first, VectorIterator last, StrictWeakOrdering cmp, unsigned_type M) {
  using T = typename VectorIterator::value_type;
  auto& vector = *first.parent_vector();
  xxl::sorter<T, StrictWeakOrdering> sorter(
      std::move(cmp), detail::resources_of(M),
      {.expected_records = static_cast<std::uint64_t>(last - first)});
  vector.for_each_block(first.index(), last.index(), [&](const T* data, std::size_t count) {
    sorter.push(std::span<const T>(data, count));
  });
  external_size_type at = first.index();
  for (auto sorted = sorter.pull(); !sorted.empty(); sorted = sorter.pull()) {
    vector.write(at, sorted.data(), sorted.size());
    at += sorted.size();
  }
}

// By keys that `keyobj` extracts.
template <class VectorIterator, class KeyExtractor>
void ksort(VectorIterator first, VectorIterator last, KeyExtractor keyobj, unsigned_type M) {
  using Key = typename KeyExtractor::key_type;
  sort(first, last, detail::ByExtractedKey<Key, KeyExtractor>{std::move(keyobj)}, M);
}

// By the member function key() of elements.
template <class VectorIterator>
void ksort(VectorIterator first, VectorIterator last, unsigned_type M) {
  using T = typename VectorIterator::value_type;
  sort(
      first, last, [](const T& a, const T& b) { return a.key() < b.key(); }, M);
}

template <class VectorIterator, class StrictWeakOrdering>
bool is_sorted(VectorIterator first, VectorIterator last, StrictWeakOrdering cmp) {
  return std::is_sorted(first, last, cmp);
}
template <class VectorIterator>
bool is_sorted(VectorIterator first, VectorIterator last) {
  return std::is_sorted(first, last);
}

// ---- streams ----

namespace stream {

template <class InputIterator>
class iterator2stream {
 public:
  using value_type = typename std::iterator_traits<InputIterator>::value_type;

  iterator2stream(InputIterator begin, InputIterator end) : at_(begin), end_(end) {}
  const value_type& operator*() const { return *at_; }
  const value_type* operator->() const { return &*at_; }
  iterator2stream& operator++() {
    ++at_;
    return *this;
  }
  bool empty() const { return at_ == end_; }

 private:
  InputIterator at_, end_;
};

template <class InputIterator>
iterator2stream<InputIterator> streamify(InputIterator begin, InputIterator end) {
  return {begin, end};
}
template <class InputIterator>
struct streamify_traits {
  using stream_type = iterator2stream<InputIterator>;
};

template <class ValueType>
struct use_push {
  using value_type = ValueType;
};

// Runs, that is a sorter that has been filled.
template <class ValueType, class CompareType>
class sorted_runs {
 public:
  using value_type = ValueType;
  using cmp_type = CompareType;
  using size_type = external_size_type;
  using sorter_type = xxl::sorter<value_type, cmp_type>;

  sorted_runs(const cmp_type& cmp, unsigned_type memory)
      : sorter(cmp, stxxl::detail::resources_of(memory), {.repeatable = true}) {}
  size_type size() const { return sorter.size(); }
  void clear() { sorter.clear(); }

  sorter_type sorter;
  bool merged = false;  // somebody has read it
};

// Takes all of a stream.
template <class Input, class CompareType,
          unsigned BlockSize = STXXL_DEFAULT_BLOCK_SIZE(typename Input::value_type),
          class AllocStrategy = STXXL_DEFAULT_ALLOC_STRATEGY>
class runs_creator {
 public:
  using cmp_type = CompareType;
  using value_type = typename Input::value_type;
  using sorted_runs_data_type = sorted_runs<value_type, cmp_type>;
  using sorted_runs_type = std::shared_ptr<sorted_runs_data_type>;
  using result_type = sorted_runs_type;

  runs_creator(Input& input, CompareType cmp, unsigned_type memory_to_use)
      : input_(input), result_(std::make_shared<sorted_runs_data_type>(cmp, memory_to_use)) {}
  // The first call reads the stream.
  sorted_runs_type result() {
    for (; !input_.empty(); ++input_) result_->sorter.push(*input_);
    return result_;
  }

 private:
  Input& input_;
  sorted_runs_type result_;
};

// Takes what is pushed.
template <class ValueType, class CompareType, unsigned BlockSize, class AllocStrategy>
class runs_creator<use_push<ValueType>, CompareType, BlockSize, AllocStrategy> {
 public:
  using cmp_type = CompareType;
  using value_type = ValueType;
  using sorted_runs_data_type = sorted_runs<value_type, cmp_type>;
  using sorted_runs_type = std::shared_ptr<sorted_runs_data_type>;
  using result_type = sorted_runs_type;

  runs_creator(CompareType cmp, unsigned_type memory_to_use) : cmp_(cmp), memory_(memory_to_use) {
    allocate();
  }
  void allocate() { result_ = std::make_shared<sorted_runs_data_type>(cmp_, memory_); }
  void deallocate() {}
  void push(const value_type& value) { result_->sorter.push(value); }
  external_size_type size() const { return result_->size(); }
  const cmp_type& cmp() const { return cmp_; }
  sorted_runs_type result() { return result_; }

 private:
  cmp_type cmp_;
  unsigned_type memory_;
  sorted_runs_type result_;
};

// The records of runs, in order. (The memory is that of the runs.)
template <class RunsType, class CompareType = typename RunsType::element_type::cmp_type,
          class AllocStrategy = STXXL_DEFAULT_ALLOC_STRATEGY>
class runs_merger {
 public:
  using sorted_runs_type = RunsType;
  using value_type = typename RunsType::element_type::value_type;
  using size_type = external_size_type;

  runs_merger(CompareType, unsigned_type) {}
  runs_merger(RunsType runs, CompareType, unsigned_type) { initialize(std::move(runs)); }
  void initialize(RunsType runs) {
    runs_ = std::move(runs);
    if (std::exchange(runs_->merged, true)) runs_->sorter.rewind();
    left_ = runs_->sorter.size();
  }
  void deallocate() { runs_.reset(); }
  void set_memory_to_use(unsigned_type) {}

  size_type size() const { return left_; }
  bool empty() const { return left_ == 0; }
  const value_type& operator*() const {
    (void)runs_->sorter.empty();
    return *runs_->sorter;
  }
  const value_type* operator->() const { return &**this; }
  runs_merger& operator++() {
    (void)runs_->sorter.empty();
    ++runs_->sorter;
    // The last records come after what checks that none were lost.
    if (--left_ == 0) (void)runs_->sorter.empty();
    return *this;
  }

 private:
  RunsType runs_;
  size_type left_ = 0;
};

template <class Input, class CompareType,
          unsigned BlockSize = STXXL_DEFAULT_BLOCK_SIZE(typename Input::value_type),
          class AllocStrategy = STXXL_DEFAULT_ALLOC_STRATEGY,
          class RunsCreatorType = runs_creator<Input, CompareType, BlockSize, AllocStrategy>>
class sort {
 public:
  using value_type = typename Input::value_type;
  using size_type = external_size_type;

  sort(Input& input, CompareType cmp, unsigned_type memory_to_use)
      : creator_(input, cmp, memory_to_use), merger_(creator_.result(), cmp, memory_to_use) {}
  sort(Input& input, CompareType cmp, unsigned_type creator_memory, unsigned_type merger_memory)
      : sort(input, cmp, std::max(creator_memory, merger_memory)) {}
  sort(const sort&) = delete;
  sort& operator=(const sort&) = delete;

  size_type size() const { return merger_.size(); }
  bool empty() const { return merger_.empty(); }
  const value_type& operator*() const { return *merger_; }
  const value_type* operator->() const { return &*merger_; }
  sort& operator++() {
    ++merger_;
    return *this;
  }

 private:
  RunsCreatorType creator_;
  runs_merger<typename RunsCreatorType::sorted_runs_type, CompareType, AllocStrategy> merger_;
};

// op(*input_1, *input_2, ...)
template <class Operation, class... Inputs>
class transform {
 public:
  using value_type = typename Operation::value_type;

  transform(Operation& operation, Inputs&... inputs) : operation_(operation), inputs_(inputs...) {
    compute();
  }
  const value_type& operator*() const { return current_; }
  const value_type* operator->() const { return &current_; }
  transform& operator++() {
    std::apply([](Inputs&... input) { (++input, ...); }, inputs_);
    compute();
    return *this;
  }
  bool empty() const {
    return std::apply([](const Inputs&... input) { return (input.empty() || ...); }, inputs_);
  }

 private:
  void compute() {
    if (empty()) return;
    current_ =
        std::apply([this](Inputs&... input) { return value_type(operation_(*input...)); }, inputs_);
  }

  Operation& operation_;
  std::tuple<Inputs&...> inputs_;
  value_type current_{};
};

// The tuple of what several streams have.
template <class... Inputs>
class make_tuple {
 public:
  using value_type = std::tuple<typename Inputs::value_type...>;

  explicit make_tuple(Inputs&... inputs) : inputs_(inputs...) { compute(); }
  const value_type& operator*() const { return current_; }
  const value_type* operator->() const { return &current_; }
  make_tuple& operator++() {
    std::apply([](Inputs&... input) { (++input, ...); }, inputs_);
    compute();
    return *this;
  }
  bool empty() const {
    return std::apply([](const Inputs&... input) { return (input.empty() || ...); }, inputs_);
  }

 private:
  void compute() {
    if (!empty())
      current_ = std::apply([](Inputs&... input) { return value_type(*input...); }, inputs_);
  }

  std::tuple<Inputs&...> inputs_;
  value_type current_{};
};

// Of stretches of records that are equal by `equal`, the first one.
template <class Input, class BinaryPredicate = std::equal_to<typename Input::value_type>>
class unique {
 public:
  using value_type = typename Input::value_type;

  explicit unique(Input& input, BinaryPredicate equal = BinaryPredicate())
      : input_(input), equal_(std::move(equal)) {
    if (!input_.empty()) current_ = *input_;
  }
  const value_type& operator*() const { return current_; }
  const value_type* operator->() const { return &current_; }
  unique& operator++() {
    const value_type last = current_;
    while (++input_, !input_.empty()) {
      current_ = *input_;
      if (!equal_(last, current_)) break;
    }
    return *this;
  }
  bool empty() const { return input_.empty(); }

 private:
  Input& input_;
  BinaryPredicate equal_;
  value_type current_{};
};

// Writes all of a stream to `out`; into a vector it may go beyond what there is.
template <class OutputIterator, class StreamAlgorithm>
OutputIterator materialize(StreamAlgorithm& in, OutputIterator out) {
  for (; !in.empty(); ++in, ++out) *out = *in;
  return out;
}
// Writes as much as there is room for.
template <class OutputIterator, class StreamAlgorithm>
OutputIterator materialize(StreamAlgorithm& in, OutputIterator begin, OutputIterator end) {
  for (; !in.empty() && begin != end; ++in, ++begin) *begin = *in;
  return begin;
}
template <class OutputIterator, class StreamAlgorithm>
OutputIterator materialize(StreamAlgorithm& in, OutputIterator begin, OutputIterator end,
                           unsigned_type) {
  return materialize(in, begin, end);
}
// Reads a stream to its end.
template <class StreamAlgorithm>
void discard(StreamAlgorithm& in) {
  while (!in.empty()) ++in;
}

}  // namespace stream

// ---- measurements ----

inline double timestamp() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class timer {
 public:
  explicit timer(bool start_now = false) {
    if (start_now) start();
  }
  void start() { started_ = timestamp(); }
  void stop() { seconds_ += timestamp() - started_; }
  void reset() { seconds_ = 0; }
  double seconds() const { return seconds_; }
  double mseconds() const { return seconds_ * 1e3; }

 private:
  double started_ = 0;
  double seconds_ = 0;
};

class scoped_print_timer {
 public:
  explicit scoped_print_timer(const std::string& message, uint64 = 0)
      : message_(message), started_(timestamp()) {}
  ~scoped_print_timer() {
    std::fprintf(stderr, "%s: %.3f s\n", message_.c_str(), timestamp() - started_);
  }

 private:
  std::string message_;
  double started_;
};

// Time only: what xxl moves between memory and disks is not counted here.
class stats {
 public:
  static stats* get_instance() {
    static stats instance;
    return &instance;
  }
  void reset() { started_ = timestamp(); }
  double get_last_reset_time() const { return started_; }

 private:
  double started_ = timestamp();
};

class stats_data {
 public:
  stats_data() = default;
  stats_data(const stats& of) : seconds_(timestamp() - of.get_last_reset_time()) {}
  friend stats_data operator-(stats_data a, const stats_data& b) {
    a.seconds_ -= b.seconds_;
    return a;
  }
  friend stats_data operator+(stats_data a, const stats_data& b) {
    a.seconds_ += b.seconds_;
    return a;
  }
  double get_elapsed_time() const { return seconds_; }
  friend std::ostream& operator<<(std::ostream& out, const stats_data& data) {
    return out << "elapsed time: " << data.seconds_ << " seconds\n";
  }

 private:
  double seconds_ = 0;
};

// ---- what is not there ----

#define XXL_STXXL_IS_NOT_THERE(name, parameters, instead)                              \
  template <class T, parameters>                                                       \
  class name {                                                                         \
    static_assert(detail::kNever<T>, "stxxl::" #name " is not part of xxl: " instead); \
  }
#define XXL_STXXL_ANY class... Rest
XXL_STXXL_IS_NOT_THERE(priority_queue, XXL_STXXL_ANY,
                       "use several sorters (time-forward processing) or a queue in memory");
XXL_STXXL_IS_NOT_THERE(deque, XXL_STXXL_ANY, "use stxxl::vector");
XXL_STXXL_IS_NOT_THERE(queue, XXL_STXXL_ANY, "use stxxl::vector");
XXL_STXXL_IS_NOT_THERE(map, XXL_STXXL_ANY, "sort and join, or use a key-value store");
XXL_STXXL_IS_NOT_THERE(unordered_map, XXL_STXXL_ANY, "sort and join, or use a key-value store");
XXL_STXXL_IS_NOT_THERE(sequence, XXL_STXXL_ANY, "use stxxl::vector");
XXL_STXXL_IS_NOT_THERE(matrix, XXL_STXXL_ANY, "there is nothing like it");
XXL_STXXL_IS_NOT_THERE(STACK_GENERATOR, XXL_STXXL_ANY, "use stxxl::vector");
#undef XXL_STXXL_ANY
#undef XXL_STXXL_IS_NOT_THERE
template <class T, class Compare, unsigned_type InternalMemory, unsigned_type MaxItems,
          unsigned Tune = 6>
class PRIORITY_QUEUE_GENERATOR {
  static_assert(detail::kNever<T>,
                "stxxl::priority_queue is not part of xxl: use several sorters (time-forward "
                "processing) or a queue in memory");
};

}  // namespace stxxl
