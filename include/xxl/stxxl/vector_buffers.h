// Vectors read and written in order.
#pragma once

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "xxl/stxxl/stream.h"
#include "xxl/stxxl/vector.h"

namespace stxxl {

// Reads a stretch of a vector in order, ahead of use. Later changes may be missed.
template <class Reader>
class vector_bufreader_iterator;
template <class VectorIterator>
class vector_bufreader {
 public:
  using value_type = typename VectorIterator::value_type;
  using vector_iterator = VectorIterator;
  using iterator = vector_bufreader_iterator<vector_bufreader>;

  vector_bufreader(VectorIterator begin, VectorIterator end, unsigned_type = 0)
      : begin_(begin), at_(begin), end_(end) {}
  template <class Vector>
  explicit vector_bufreader(const Vector& vector, unsigned_type = 0)
      : vector_bufreader(vector.begin(), vector.end()) {}

  void rewind() {
    at_ = begin_;
    reader_.reset();
    block_ = {};
  }
  bool empty() const { return at_ == end_; }
  external_size_type size() const { return static_cast<external_size_type>(end_ - at_); }
  const value_type& operator*() const {
    if (block_.empty()) load();
    return block_.front();
  }
  const value_type* operator->() const { return &**this; }
  vector_bufreader& operator++() {
    if (block_.empty()) load();
    block_ = block_.subspan(1);
    ++at_;
    return *this;
  }
  vector_bufreader& operator>>(value_type& value) {
    value = **this;
    return ++*this;
  }
  // The remaining elements, as an input range.
  iterator begin() { return iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  void load() const {
    if (!reader_) reader_.emplace(at_.parent_vector()->reader(at_.index(), end_.index()));
    block_ = reader_->next();
  }

  VectorIterator begin_, at_, end_;
  mutable std::optional<detail::stretch_reader<value_type>> reader_;
  mutable std::span<const value_type> block_;  // from at_ on
};

template <class Reader>
class vector_bufreader_iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = typename Reader::value_type;
  using difference_type = external_diff_type;
  using reference = const value_type&;
  using pointer = const value_type*;

  explicit vector_bufreader_iterator(Reader& reader) : reader_(&reader) {}
  reference operator*() const { return **reader_; }
  pointer operator->() const { return &**reader_; }
  vector_bufreader_iterator& operator++() {
    ++*reader_;
    return *this;
  }
  friend bool operator==(const vector_bufreader_iterator& it, std::default_sentinel_t) {
    return it.reader_->empty();
  }

 private:
  Reader* reader_;
};

// Reads a stretch of a vector from its end to its beginning.
template <class VectorIterator>
class vector_bufreader_reverse {
 public:
  using value_type = typename VectorIterator::value_type;
  using vector_iterator = VectorIterator;

  vector_bufreader_reverse(VectorIterator begin, VectorIterator end, unsigned_type = 0)
      : begin_(begin), at_(end), end_(end) {}
  template <class Vector>
  explicit vector_bufreader_reverse(const Vector& vector, unsigned_type = 0)
      : vector_bufreader_reverse(vector.begin(), vector.end()) {}

  void rewind() {
    at_ = end_;
    block_.clear();
  }
  bool empty() const { return at_ == begin_; }
  external_size_type size() const { return static_cast<external_size_type>(at_ - begin_); }
  const value_type& operator*() const {
    if (block_.empty()) load();
    return block_.back();
  }
  const value_type* operator->() const { return &**this; }
  vector_bufreader_reverse& operator++() {
    if (block_.empty()) load();
    block_.pop_back();
    --at_;
    return *this;
  }
  vector_bufreader_reverse& operator>>(value_type& value) {
    value = **this;
    return ++*this;
  }

 private:
  static constexpr external_size_type kElements =
      std::max<std::size_t>(1, (std::size_t{4} << 20) / sizeof(value_type));

  void load() const {
    const external_size_type last = at_.index();
    auto from = at_.parent_vector()->reader(last - std::min(kElements, size()), last);
    for (auto block = from.next(); !block.empty(); block = from.next()) {
      block_.insert(block_.end(), block.begin(), block.end());
    }
  }

  VectorIterator begin_, at_, end_;
  mutable std::vector<value_type> block_;  // up to at_
};

// Writes a vector in order, beyond its end if needed. Complete after finish().
template <class VectorIterator>
class vector_bufwriter {
 public:
  using value_type = typename VectorIterator::value_type;
  using vector_type = typename VectorIterator::vector_type;

  explicit vector_bufwriter(VectorIterator begin, unsigned_type = 0)
      : vector_(*begin.parent_vector()), at_(begin.index()) {}
  explicit vector_bufwriter(vector_type& vector, unsigned_type = 0) : vector_(vector) {}
  vector_bufwriter(const vector_bufwriter&) = delete;
  vector_bufwriter& operator=(const vector_bufwriter&) = delete;
  ~vector_bufwriter() {
    try {
      finish();
    } catch (const std::exception&) {  // as STXXL: finish() reports errors
    }
  }

  vector_bufwriter& operator<<(const value_type& value) {
    if (at_ < vector_.size()) {
      if (!writer_) writer_.emplace(vector_.writer(at_));
      writer_->put(value);
    } else {
      vector_.push_back(value);
    }
    ++at_;
    return *this;
  }
  void finish() {
    if (writer_) writer_->finish();
    vector_.flush();
  }

 private:
  vector_type& vector_;
  external_size_type at_ = 0;
  std::optional<detail::stretch_writer> writer_;  // writer of existing elements
};

template <class V, unsigned P, class G, unsigned B, class A, class S>
class vector<V, P, G, B, A, S>::bufreader_type : public vector_bufreader<const_iterator> {
 public:
  using vector_bufreader<const_iterator>::vector_bufreader;
};
template <class V, unsigned P, class G, unsigned B, class A, class S>
class vector<V, P, G, B, A, S>::bufreader_reverse_type
    : public vector_bufreader_reverse<const_iterator> {
 public:
  using vector_bufreader_reverse<const_iterator>::vector_bufreader_reverse;
};
template <class V, unsigned P, class G, unsigned B, class A, class S>
class vector<V, P, G, B, A, S>::bufwriter_type : public vector_bufwriter<iterator> {
 public:
  using vector_bufwriter<iterator>::vector_bufwriter;
};

namespace stream {

template <stxxl::detail::IteratesVector VectorIterator>
class iterator2stream<VectorIterator> : public vector_bufreader<VectorIterator> {
 public:
  using vector_bufreader<VectorIterator>::vector_bufreader;
};
template <class VectorIterator>
using vector_iterator2stream = iterator2stream<VectorIterator>;

// Numbers of buffers are not used.
template <stxxl::detail::IteratesVector VectorIterator>
iterator2stream<VectorIterator> streamify(VectorIterator begin, VectorIterator end, unsigned_type) {
  return {begin, end};
}
template <stxxl::detail::IteratesVector VectorIterator>
iterator2stream<VectorIterator> streamify_sr(VectorIterator begin, VectorIterator end,
                                             unsigned_type = 0) {
  return {begin, end};
}

// The same for vectors, which grow at their end.
template <stxxl::detail::WritesVector VectorIterator, class StreamAlgorithm>
VectorIterator materialize(StreamAlgorithm& in, VectorIterator out) {
  vector_bufwriter writer(out);
  for (; !in.empty(); ++in, ++out) writer << *in;
  writer.finish();
  return out;
}
template <stxxl::detail::WritesVector VectorIterator, class StreamAlgorithm>
VectorIterator materialize(StreamAlgorithm& in, VectorIterator out, unsigned_type) {
  return materialize(in, out);
}
template <stxxl::detail::WritesVector VectorIterator, class StreamAlgorithm>
VectorIterator materialize(StreamAlgorithm& in, VectorIterator begin, VectorIterator end) {
  vector_bufwriter writer(begin);
  for (; !in.empty() && begin != end; ++in, ++begin) writer << *in;
  writer.finish();
  return begin;
}

}  // namespace stream

}  // namespace stxxl
