// stxxl::vector: an array in a file.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "xxl/stxxl/config.h"
#include "xxl/stxxl/file.h"

namespace stxxl {

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

// An array in a file. The file has no name and lies in a scratch directory, or it is given, and
// then keeps the elements after the vector is destroyed. Appending, sorting, bufreader and
// streamify bypass the page cache for long stretches, and read and write blocks in the background.
// Other accesses map the file into memory. The system keeps as much of it as fits, and long scans
// release what they have passed.
//
// The kernel keeps mapping and file the same. A direct read first writes changed memory, and a
// direct write drops the mapped pages.
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
      : descriptor_(detail::open_unnamed()), owns_(true), tail_(descriptor_, 0) {
    resize(n);
  }
  // `from` must outlive it. Default: all elements of the file.
  explicit vector(file* from, size_type n = size_type(-1), unsigned_type = 0)
      : descriptor_(from->descriptor()), tail_(descriptor_, 0) {
    size_ = written_ = detail::bytes_of_file(descriptor_) / sizeof(value_type);
    tail_.seek(size_ * sizeof(value_type));
    if (n != size_type(-1)) resize(n);
  }
  vector(const vector& other) : vector() {
    auto from = other.reader(0, other.size_);
    for (auto block = from.next(); !block.empty(); block = from.next()) append(block);
  }
  vector& operator=(const vector& other) {
    if (this != &other) vector(other).swap(*this);
    return *this;
  }
  ~vector() {
    if (!owns_) {
      try {
        flush();
        if (size_ != detail::bytes_of_file(descriptor_) / sizeof(value_type)) {
          (void)!::ftruncate(descriptor_, static_cast<off_t>(size_ * sizeof(value_type)));
        }
      } catch (const std::exception&) {  // as STXXL: flush() reports errors
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
    std::swap(window_, other.window_);
    std::swap(windows_in_order_, other.windows_in_order_);
  }

  size_type size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_type capacity() const { return size_; }
  void reserve(size_type) {}
  void clear() { resize(0); }
  void resize(size_type n, bool = false) {
    flush();
    if (n > size_) {
      detail::extend_file(descriptor_, size_ * sizeof(value_type), n * sizeof(value_type));
    }
    size_ = written_ = n;
    tail_.seek(n * sizeof(value_type));
    window_ = {};
  }
  void push_back(const_reference value) {
    tail_.put(value);
    ++size_;
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

  // Writes appended elements. Throws std::runtime_error.
  void flush() const {
    if (written_ == size_) return;
    tail_.finish();
    written_ = size_;
  }

  // Gives the elements [first, last) in order.
  detail::stretch_reader<value_type> reader(external_size_type first,
                                            external_size_type last) const {
    flush();
    return {descriptor_, first, last};
  }
  // Overwrites elements from `first` on. Complete after its finish().
  detail::stretch_writer writer(external_size_type first) {
    flush();
    return {descriptor_, first * sizeof(value_type)};
  }
  void append(std::span<const value_type> values) {
    tail_.put_all(values.data(), values.size_bytes());
    size_ += values.size();
  }

  class bufreader_type;
  class bufwriter_type;

 private:
  static constexpr std::size_t kAddresses = std::size_t{1} << 38;
  // Elements of a window. Scans in order are recognized at its begin.
  static constexpr std::size_t kWindow =
      std::max<std::size_t>(1, (std::size_t{8} << 20) / sizeof(value_type));
  static constexpr unsigned kLongScan = 32;  // windows

  struct window {
    external_size_type first = 0;
    external_size_type count = 0;  // mapped elements, the same in the file
  };

  value_type* element(external_size_type i) const {
    if (i - window_.first >= window_.count) enter_window(i);
    return map_ + i;
  }
  void enter_window(external_size_type i) const {
    if (i >= written_) flush();
    if (i >= mapped_) map();
    const external_size_type first = i - i % kWindow;
    if (first != window_.first) {
      windows_in_order_ = first == window_.first + kWindow ? windows_in_order_ + 1 : 0;
      if (windows_in_order_ > 1) advise(first + kWindow, first + 2 * kWindow, MADV_WILLNEED);
      if (windows_in_order_ > kLongScan) let_go(first - 5 * kWindow, first - kWindow);
    }
    window_ = {first, std::min<external_size_type>(kWindow, std::min(written_, mapped_) - first)};
  }
  // Addresses stay valid. Changed pages are being written to the disk, and released the next time.
  void let_go(external_size_type first, external_size_type last) const {
    advise(first, last, MADV_DONTNEED);
    ::posix_fadvise(descriptor_, static_cast<off_t>(first * sizeof(value_type)),
                    static_cast<off_t>((last - first) * sizeof(value_type)), POSIX_FADV_DONTNEED);
  }
  void advise(external_size_type first, external_size_type last, int advice) const {
    constexpr std::uintptr_t kPage = 4096;
    last = std::min(last, mapped_);
    if (first >= last) return;
    const auto begin = reinterpret_cast<std::uintptr_t>(map_ + first) / kPage * kPage;
    const auto end = reinterpret_cast<std::uintptr_t>(map_ + last);
    ::madvise(reinterpret_cast<void*>(begin), end - begin, advice);
  }
  // The address range is larger than the file. When the vector grows, elements stay where they are
  // as long as they fit.
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
  mutable external_size_type written_ = 0;  // elements certainly in the file
  mutable detail::stretch_writer tail_;     // writes those
  mutable value_type* map_ = nullptr;
  mutable external_size_type mapped_ = 0;
  mutable std::size_t reserved_ = 0;  // bytes of addresses from map_ on
  mutable window window_;             // the window used last
  mutable unsigned windows_in_order_ = 0;
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

}  // namespace stxxl
