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
#include <string>
#include <type_traits>
#include <utility>

#include "xxl/is_record.h"
#include "xxl/stxxl/config.h"
#include "xxl/stxxl/file.h"

namespace stxxl {

template <unsigned NPages = 8>
struct lru_pager {};
template <unsigned NPages = 8>
struct random_pager {};
enum pager_type { random, lru };

template <class ValueType, unsigned PageSize = 4, class PagerType = lru_pager<8>,
          unsigned BlockSize = STXXL_DEFAULT_BLOCK_SIZE(ValueType),
          class AllocStrategy = STXXL_DEFAULT_ALLOC_STRATEGY, class SizeType = external_size_type>
class vector;

namespace detail {

// The part that both kinds of iterators share. Vector is const for constant elements.
template <class Self, class Vector>
class vector_iterator_base {
  static constexpr bool kConst = std::is_const_v<Vector>;

 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = typename Vector::value_type;
  using difference_type = external_diff_type;
  using size_type = typename Vector::size_type;
  using reference = std::conditional_t<kConst, const value_type&, value_type&>;
  using pointer = std::conditional_t<kConst, const value_type*, value_type*>;
  using vector_type = Vector;
  using block_type = typename Vector::block_type;

  vector_iterator_base() = default;
  vector_iterator_base(vector_type* vector, external_size_type index)
      : vector_(vector), index_(index) {}

  vector_type* parent_vector() const { return vector_; }
  external_size_type index() const { return index_; }
  // The number of elements before it in its block.
  external_size_type block_offset() const { return index_ % block_type::size; }
  reference operator*() const { return (*vector_)[index_]; }
  pointer operator->() const { return &**this; }
  reference operator[](difference_type i) const { return *(*this + i); }
  Self& operator++() { return *this += 1; }
  Self& operator--() { return *this -= 1; }
  Self operator++(int) {
    const Self before = self();
    ++*this;
    return before;
  }
  Self operator--(int) {
    const Self before = self();
    --*this;
    return before;
  }
  Self& operator+=(difference_type i) {
    index_ += static_cast<external_size_type>(i);
    return self();
  }
  Self& operator-=(difference_type i) { return *this += -i; }
  Self operator+(difference_type i) const { return Self(self()) += i; }
  friend Self operator+(difference_type i, const Self& it) { return it + i; }
  Self operator-(difference_type i) const { return Self(self()) -= i; }
  // An iterator of either kind is compared with one of the other.
  friend difference_type operator-(const Self& a, const Self& b) {
    return static_cast<difference_type>(a.index() - b.index());
  }
  friend bool operator==(const Self& a, const Self& b) { return a.index() == b.index(); }
  friend auto operator<=>(const Self& a, const Self& b) { return a.index() <=> b.index(); }
  void flush() const {
    if (vector_ != nullptr) vector_->flush();
  }
  void block_externally_updated() const {}

 private:
  Self& self() { return static_cast<Self&>(*this); }
  const Self& self() const { return static_cast<const Self&>(*this); }

  vector_type* vector_ = nullptr;
  external_size_type index_ = 0;
};

// An iterator of a stxxl::vector, of either kind.
template <class Iterator>
concept IteratesVector = requires(Iterator it) {
  it.parent_vector()->reader(it.index(), it.index());
};
template <class Iterator>
concept WritesVector = IteratesVector<Iterator> && !std::is_const_v<typename Iterator::vector_type>;

}  // namespace detail

template <class ValueType, class AllocStrategy, class SizeType, class DiffType, unsigned BlockSize,
          class PagerType, unsigned PageSize>
class vector_iterator
    : public detail::vector_iterator_base<
          vector_iterator<ValueType, AllocStrategy, SizeType, DiffType, BlockSize, PagerType,
                          PageSize>,
          vector<ValueType, PageSize, PagerType, BlockSize, AllocStrategy, SizeType>> {
 public:
  using vector_iterator::vector_iterator_base::vector_iterator_base;
};

template <class ValueType, class AllocStrategy, class SizeType, class DiffType, unsigned BlockSize,
          class PagerType, unsigned PageSize>
class const_vector_iterator
    : public detail::vector_iterator_base<
          const_vector_iterator<ValueType, AllocStrategy, SizeType, DiffType, BlockSize, PagerType,
                                PageSize>,
          const vector<ValueType, PageSize, PagerType, BlockSize, AllocStrategy, SizeType>> {
 public:
  using const_vector_iterator::vector_iterator_base::vector_iterator_base;
  const_vector_iterator(const vector_iterator<ValueType, AllocStrategy, SizeType, DiffType,
                                              BlockSize, PagerType, PageSize>& other)
      : const_vector_iterator(other.parent_vector(), other.index()) {}
};

// An array in a file. The file has no name and lies in a scratch directory, or it is given, and
// then keeps the elements after the vector is destroyed. Appending, sorting, bufreader and
// streamify bypass the page cache for long stretches, and read and write blocks in the background.
// Other accesses map the file into memory. The system keeps as much of it as fits, and long scans
// release what they have passed.
//
// The kernel keeps mapping and file the same. A direct read first writes changed memory, and a
// direct write drops the mapped pages.
template <class ValueType, unsigned PageSize, class PagerType, unsigned BlockSize,
          class AllocStrategy, class SizeType>
class vector {
  static_assert(xxl::is_record_v<ValueType>,
                "elements are kept as their bytes: see xxl::is_record");

 public:
  using value_type = ValueType;
  using reference = value_type&;
  using const_reference = const value_type&;
  using pointer = value_type*;
  using const_pointer = const value_type*;
  using size_type = SizeType;
  using difference_type = external_diff_type;
  using iterator = vector_iterator<value_type, AllocStrategy, size_type, difference_type, BlockSize,
                                   PagerType, PageSize>;
  using const_iterator = const_vector_iterator<value_type, AllocStrategy, size_type,
                                               difference_type, BlockSize, PagerType, PageSize>;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  enum { block_size = BlockSize, page_size = PageSize };
  using block_type = detail::block_of<BlockSize, value_type>;

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
        // As STXXL does: cuts off the bytes after the last whole element, if the file is writable.
        if (size_ * sizeof(value_type) != detail::bytes_of_file(descriptor_)) {
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

  // Copies the elements to files named PREFIX and nine digits, a block to each. Throws
  // std::runtime_error.
  void export_files(const std::string& prefix) const {
    constexpr external_size_type kElements = block_type::size;
    for (external_size_type first = 0; first < size_; first += kElements) {
      const std::string number = std::to_string(first / kElements);
      const std::string name =
          prefix + std::string(9 - std::min<std::size_t>(9, number.size()), '0') + number;
      const syscall_file file(name, file::RDWR | file::CREAT | file::TRUNC);
      detail::stretch_writer to(file.descriptor(), 0);
      auto from = reader(first, std::min<external_size_type>(first + kElements, size_));
      for (auto block = from.next(); !block.empty(); block = from.next()) {
        to.put_all(block.data(), block.size_bytes());
      }
      to.finish();
    }
  }

  friend bool operator==(const vector& a, const vector& b) {
    if (a.size() != b.size()) return false;
    auto from_a = a.reader(0, a.size()), from_b = b.reader(0, b.size());
    std::span<const value_type> x, y;
    for (external_size_type left = a.size(); left > 0;) {
      if (x.empty()) x = from_a.next();
      if (y.empty()) y = from_b.next();
      const std::size_t count = std::min(x.size(), y.size());
      if (!std::equal(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count), y.begin())) {
        return false;
      }
      x = x.subspan(count);
      y = y.subspan(count);
      left -= count;
    }
    return true;
  }

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
  class bufreader_reverse_type;
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
