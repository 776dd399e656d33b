// stxxl::vector: an array in a file.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

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

}  // namespace stxxl
