// Sorted streams: runs, and their merge.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "xxl/sorter.h"
#include "xxl/stxxl/config.h"

namespace stxxl {

namespace stream {

template <class ValueType>
struct use_push {
  using value_type = ValueType;
};
template <class ValueType>
struct from_sorted_sequences {
  using value_type = ValueType;
};

// Runs: a filled sorter.
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
  size_type elements = 0;  // once the runs are made
  bool merged = false;     // whether it was read
};

// Reads all records, and says whether they are in order. Runs can be merged afterwards.
template <class RunsType, class CompareType>
bool check_sorted_runs(const RunsType& runs, CompareType cmp) {
  using T = typename RunsType::element_type::value_type;
  if (std::exchange(runs->merged, true)) runs->sorter.rewind();
  std::optional<T> last;
  for (const T& record : runs->sorter) {
    if (last && cmp(record, *last)) return false;
    last.emplace(record);
  }
  return true;
}

// Makes runs of a whole stream.
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
  using block_type = stxxl::detail::block_of<BlockSize, value_type>;

  runs_creator(Input& input, CompareType cmp, unsigned_type memory_to_use)
      : input_(input), result_(std::make_shared<sorted_runs_data_type>(cmp, memory_to_use)) {}
  // The first call reads the stream.
  sorted_runs_type result() {
    for (; !input_.empty(); ++input_) result_->sorter.push(*input_);
    result_->elements = result_->size();
    return result_;
  }

 private:
  Input& input_;
  sorted_runs_type result_;
};

// Makes runs of pushed records.
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
  sorted_runs_type result() {
    result_->elements = result_->size();
    return result_;
  }
  using block_type = stxxl::detail::block_of<BlockSize, value_type>;

 private:
  cmp_type cmp_;
  unsigned_type memory_;
  sorted_runs_type result_;
};

// The same from sorted sequences. They are sorted again.
template <class ValueType, class CompareType, unsigned BlockSize, class AllocStrategy>
class runs_creator<from_sorted_sequences<ValueType>, CompareType, BlockSize, AllocStrategy>
    : public runs_creator<use_push<ValueType>, CompareType, BlockSize, AllocStrategy> {
 public:
  using runs_creator<use_push<ValueType>, CompareType, BlockSize, AllocStrategy>::runs_creator;
  void finish() {}  // a sequence
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
  const value_type& operator*() const { return *runs_->sorter; }
  const value_type* operator->() const { return &**this; }
  runs_merger& operator++() {
    ++runs_->sorter;
    // The last records come after the check for lost records.
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

}  // namespace stream

}  // namespace stxxl
