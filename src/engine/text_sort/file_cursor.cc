#include "engine/text_sort/file_cursor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "engine/text_sort/text_reader.h"
#include "record/csv_rows.h"

namespace xxl {

bool JoinedRecord::append(std::string_view bytes) {
  constexpr std::size_t kFirstBytes = 4 * kKiB;
  constexpr std::size_t kFewBytes = kMiB;       // of a string, which doubles as it grows
  constexpr std::size_t kPageBytes = 2 * kMiB;  // as the region may have them
  const std::size_t wanted = size_ + bytes.size();
  const std::size_t needed = wanted <= kFewBytes ? 2 * std::bit_ceil(std::max(wanted, kFirstBytes))
                                                 : round_up(wanted, kPageBytes);
  if (needed > taken_) {
    if (needed - taken_ > budget_) return false;
    budget_ -= needed - taken_;
    taken_ = needed;
  }
  if (wanted <= kFewBytes) {
    few_.append(bytes);
  } else {
    if (region_.size() == 0) {
      region_ = MemoryRegion(taken_ + budget_);
      std::memcpy(region_.data(), few_.data(), few_.size());
      few_ = {};
    }
    std::memcpy(region_.data() + size_, bytes.data(), bytes.size());
  }
  size_ = wanted;
  return true;
}

FileCursor::FileCursor(io::File& input, const TextSortOptions& options, std::span<std::byte> memory,
                       std::size_t& budget, io::IoService& io, Monitor& monitor, MultisetHash& hash,
                       std::uint64_t& skipped)
    : input_(input),
      options_(options),
      syntax_(options.syntax),
      budget_(budget),
      hash_(hash),
      skipped_(skipped),
      reader_(input, memory, io, monitor) {}

// Reads on. False at the end.
bool FileCursor::next_buffer() {
  const std::span<const std::byte> buffer = reader_.next();
  text_ = {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
  return !buffer.empty();
}

// Where the record ends in the buffer; npos if it goes on.
std::size_t FileCursor::find_end() const {
  if (!syntax_.quoted) return text_.find(syntax_.terminator);
  if (joined_ == nullptr) return find_row_end(text_, 0, syntax_.terminator);
  const QuoteScan scan = scan_quotes(text_, syntax_.terminator);
  const QuoteScan::Ends& ends = inside_quotes_ ? scan.if_inside : scan.if_outside;
  return ends.count > 0 ? ends.first - 1 : text_.npos;
}

void FileCursor::join(std::string_view part) {
  if (joined_ == nullptr) {
    joined_ = std::make_shared<JoinedRecord>(budget_);
    inside_quotes_ = false;
  }
  if (!joined_->append(part)) {
    const std::size_t bytes = joined_->view().size() + part.size();
    throw_too_long(options_.memory_bytes, budget_ + joined_->view().size(), bytes, input_.path(),
                   offset_);
  }
  if (syntax_.quoted && std::count(part.begin(), part.end(), kQuote) % 2 == 1) {
    inside_quotes_ = !inside_quotes_;
  }
}

bool FileCursor::take_record() {
  joined_.reset();
  offset_ = next_offset_;
  line_ = next_line_;
  for (;;) {
    if (text_.empty() && !next_buffer()) {
      if (joined_ == nullptr) return false;
      record_ = joined_->view();  // without its terminator
      next_offset_ += record_.size();
      return true;
    }
    const std::size_t end = find_end();
    if (end != text_.npos) {
      record_ = text_.substr(0, end);
      if (joined_ != nullptr) {
        join(record_);
        record_ = joined_->view();
      }
      text_.remove_prefix(end + 1);
      next_offset_ += record_.size() + 1;
      ++next_line_;
      if (syntax_.quoted) {
        next_line_ += std::count(record_.begin(), record_.end(), syntax_.terminator);
      }
      return true;
    }
    join(text_);
    text_ = {};
  }
}

std::optional<std::string> FileCursor::take_header() {
  return take_record() ? std::optional(std::string(record_)) : std::nullopt;
}

std::shared_ptr<const void> FileCursor::hold() {
  if (joined_ == nullptr) {
    join(record_);
    record_ = joined_->view();
  }
  return joined_;
}

bool FileCursor::advance() {
  for (;;) {
    if (!take_record()) return false;
    if (std::exchange(is_first_, false) && options_.first_record) options_.first_record(record_);
    const auto fault = options_.malformed ? options_.malformed(record_) : std::nullopt;
    if (!fault) break;
    if (!syntax_.skip_malformed) fail(*fault);
    ++skipped_;
  }
  add_record(hash_, record_);
  return true;
}

void FileCursor::fail(const std::string& fault) const {
  throw Error(ErrorCode::bad_input, "line " + std::to_string(line_) + ": " + fault, input_.path(),
              offset_);
}

}  // namespace xxl
