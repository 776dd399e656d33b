#include "merge/run_cursor.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace xxl {
namespace {

struct Loan {
  Monitor& monitor;
  Extents& extents;
  std::byte* buffer;
  std::size_t bytes;
  bool own_memory;  // not of `extents`
  InFlight::Token token;

  ~Loan() {
    if (own_memory) {
      std::free(buffer);
    } else {
      auto lock = monitor.lock();
      extents.give_back(buffer, bytes);
    }
    monitor.notify();
  }
};

}  // namespace

BlockTooLong::BlockTooLong(std::size_t bytes)
    : Error(ErrorCode::no_space,
            "the memory is too small to merge records of " + format_bytes(bytes) + ": give more"),
      bytes_(bytes) {}

std::shared_ptr<std::byte> BlockMemory::borrow(std::size_t bytes, bool must) {
  std::byte* buffer;
  bool in_pieces;
  {
    auto lock = monitor_.lock();
    buffer = extents_.take(bytes);
    in_pieces = extents_.free_bytes() >= bytes;
  }
  const bool own_memory = buffer == nullptr && must && in_pieces;
  if (own_memory) {
    {
      auto lock = monitor_.lock();
      extents_.drop_pages();
    }
    buffer = static_cast<std::byte*>(std::aligned_alloc(kSectorBytes, bytes));
  }
  if (buffer == nullptr) {
    if (!must) return nullptr;
    throw BlockTooLong(bytes);
  }
  const std::shared_ptr<Loan> loan(
      new Loan{monitor_, extents_, buffer, bytes, own_memory, in_flight_.begin()});
  return {loan, buffer};
}

// A merge that needs no more records leaves blocks unread. (Those in table parts that were never
// read stay until the end.)
RunCursor::~RunCursor() {
  if (!reading_.releases) return;
  for (; next_ < end_block_; ++next_) scratch_.release(*table_, next_);
}

std::size_t RunCursor::memory_bytes(const GeneralRun& run) {
  const std::size_t largest = BlockSource::buffer_bytes(run.largest_block);
  const std::size_t blocks = largest + std::min(largest, kMostAheadBytes);
  return run.parts == nullptr ? blocks
                              : blocks + 2 * BlockSource::buffer_bytes(run.parts->largest_block);
}

bool RunCursor::next_part() {
  if (run_.parts == nullptr || parts_ == run_.parts->blocks.size()) return false;
  part_ = scratch_.read_part(run_, parts_);
  if (reading_.releases) scratch_.release(*run_.parts, parts_);
  ++parts_;
  table_ = &part_;
  next_ = 0;
  end_block_ = part_.blocks.size();
  return true;
}

bool RunCursor::advance() {
  while (at_ == end_) {
    if (next_ == end_block_ && !next_part()) return false;
    open(next_++);
  }
  record_ = coded_record(at_);
  at_ = record_.data() + record_.size();
  return true;
}

std::shared_ptr<RunCursor::Read> RunCursor::start(std::size_t index, bool must) {
  auto read = std::make_shared<Read>();
  read->buffer = memory_.borrow(BlockSource::buffer_bytes(table_->blocks[index]), must);
  if (read->buffer == nullptr) return nullptr;
  scratch_.read(*table_, index, read->buffer.get(), [read, &monitor = memory_.monitor()] {
    monitor.change([&] { read->done = true; });
  });
  return read;
}

void RunCursor::open(std::size_t index) {
  current_.reset();
  if (std::byte* const buffer = loaded(index)) {
    current_ = {std::shared_ptr<std::byte>(), buffer};
  } else {
    read(index);
  }
  std::size_t begin = 0, end = table_->blocks[index].bytes;
  trim(index, current_.get(), begin, end);
  at_ = reinterpret_cast<const char*>(current_.get()) + begin;
  end_ = reinterpret_cast<const char*>(current_.get()) + end;
}

void RunCursor::read(std::size_t index) {
  std::shared_ptr<Read> read = std::move(ahead_);
  if (read == nullptr) read = start(index, true);
  {
    auto lock = memory_.monitor().lock();
    memory_.monitor().wait(lock, [&] { return read->done; });
  }
  // The thread that has read it may keep `read` for a while, but not the memory.
  current_ = std::move(read->buffer);
  if (reading_.ahead && index + 1 < end_block_ &&
      BlockSource::buffer_bytes(table_->blocks[index + 1]) <= kMostAheadBytes) {
    ahead_ = start(index + 1, false);
  }
  scratch_.open(*table_, index, current_.get());
  if (reading_.releases) scratch_.release(*table_, index);
}

std::vector<std::unique_ptr<RecordCursor>> cursors_of(std::span<const MergeSource> sources,
                                                      GeneralScratch* scratch, BlockMemory& memory,
                                                      RunReading reading) {
  std::vector<std::unique_ptr<RecordCursor>> cursors;
  for (const MergeSource& source : sources) {
    if (source.run == nullptr) {
      cursors.push_back(std::make_unique<ResidentCursor>(source.resident));
    } else {
      cursors.push_back(std::make_unique<RunCursor>(*source.run, *scratch, memory, reading));
    }
  }
  return cursors;
}

}  // namespace xxl
