// Vectors read and written in order.
#pragma once

#include <exception>
#include <optional>
#include <span>

#include "xxl/stxxl/stream.h"
#include "xxl/stxxl/vector.h"

namespace stxxl {

// Reads a stretch of a vector in order, ahead of use. Later changes may be missed.
template <class VectorIterator>
class vector_bufreader {
 public:
  using value_type = typename VectorIterator::value_type;

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
  VectorIterator begin() const { return at_; }
  VectorIterator end() const { return end_; }

 private:
  void load() const {
    if (!reader_) reader_.emplace(at_.parent_vector()->reader(at_.index(), end_.index()));
    block_ = reader_->next();
  }

  VectorIterator begin_, at_, end_;
  mutable std::optional<detail::stretch_reader<value_type>> reader_;
  mutable std::span<const value_type> block_;  // from at_ on
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
class vector<V, P, G, B, A, S>::bufwriter_type : public vector_bufwriter<iterator> {
 public:
  using vector_bufwriter<iterator>::vector_bufwriter;
};

namespace stream {

template <class Vector, bool kConst>
class iterator2stream<vector_iterator_of<Vector, kConst>>
    : public vector_bufreader<vector_iterator_of<Vector, kConst>> {
 public:
  using vector_bufreader<vector_iterator_of<Vector, kConst>>::vector_bufreader;
};

// The same for vectors, which grow at their end.
template <class Vector, class StreamAlgorithm>
vector_iterator_of<Vector, false> materialize(StreamAlgorithm& in,
                                              vector_iterator_of<Vector, false> out) {
  vector_bufwriter writer(out);
  for (; !in.empty(); ++in, ++out) writer << *in;
  writer.finish();
  return out;
}
template <class Vector, class StreamAlgorithm>
vector_iterator_of<Vector, false> materialize(StreamAlgorithm& in,
                                              vector_iterator_of<Vector, false> begin,
                                              vector_iterator_of<Vector, false> end,
                                              unsigned_type = 0) {
  vector_bufwriter writer(begin);
  for (; !in.empty() && begin != end; ++in, ++begin) writer << *in;
  writer.finish();
  return begin;
}

}  // namespace stream

}  // namespace stxxl
