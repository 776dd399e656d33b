// Vectors read and written in order.
#pragma once

#include "xxl/stxxl/vector.h"

namespace stxxl {

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

}  // namespace stxxl
