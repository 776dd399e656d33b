#include "engine/text_sort/file_cursor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "engine/text_sort/text_reader.h"
#include "io/input_checks.h"
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
                       std::uint64_t& skipped, std::size_t number)
    : input_(input),
      options_(options),
      syntax_(options.syntax),
      tag_bytes_(options.put_tag_bytes()),
      tag_(tag_bytes_ == 0 ? 0 : options.tags.of(0, number)),
      budget_(budget),
      hash_(hash),
      skipped_(skipped),
      reader_(input, memory, io, monitor) {}

// Reads on. False at the end.
bool FileCursor::next_buffer() {
  buffer_ = reader_.next();
  text_ = {reinterpret_cast<const char*>(buffer_.data()), buffer_.size()};
  return !buffer_.empty();
}

// Where the record ends in the buffer; npos if it goes on.
std::size_t FileCursor::find_end() const {
  if (syntax_.record_bytes != 0) {
    const std::size_t there = joined_ == nullptr ? 0 : joined_->view().size() - tag_bytes_;
    const std::size_t rest = syntax_.record_bytes - there;
    return rest <= text_.size() ? rest : text_.npos;
  }
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
    if (tag_bytes_ != 0) {
      char tag[kTagBytes];
      put_tag(tag, tag_, tag_bytes_);
      joined_->append({tag, tag_bytes_});
    }
  }
  if (!joined_->append(part)) {
    const std::size_t bytes = joined_->view().size() + part.size();
    throw_too_long(options_.given_memory_bytes(), budget_ + joined_->view().size(), bytes,
                   input_.path(), offset_);
  }
  if (syntax_.quoted && std::count(part.begin(), part.end(), kQuote) % 2 == 1) {
    inside_quotes_ = !inside_quotes_;
  }
}

// Makes the record of what has been joined, if anything, and `part` of the buffer.
void FileCursor::make_record(std::string_view part) {
  std::byte* const begin = buffer_.data() + buffer_.size() - text_.size();
  if (joined_ == nullptr && static_cast<std::size_t>(begin - buffer_.data()) >= tag_bytes_) {
    char* const to = reinterpret_cast<char*>(begin) - tag_bytes_;
    if (tag_bytes_ != 0) put_tag(to, tag_, tag_bytes_);
    record_ = {to, tag_bytes_ + part.size()};
  } else {
    join(part);
    record_ = joined_->view();
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
      next_offset_ += content().size();
      if (syntax_.record_bytes != 0) {
        io::check_whole_records(input_, next_offset_, syntax_.record_bytes);
      }
      return true;
    }
    const std::size_t end = find_end();
    if (end != text_.npos) {
      make_record(text_.substr(0, end));
      text_.remove_prefix(end + syntax_.frame_bytes());
      const std::string_view found = content();
      next_offset_ += found.size() + syntax_.frame_bytes();
      ++next_line_;
      if (syntax_.quoted) {
        next_line_ += std::count(found.begin(), found.end(), syntax_.terminator);
      }
      return true;
    }
    join(text_);
    text_ = {};
  }
}

std::optional<std::string> FileCursor::take_header() {
  return take_record() ? std::optional(std::string(content())) : std::nullopt;
}

std::shared_ptr<const void> FileCursor::hold() {
  if (joined_ == nullptr) {
    join(content());
    record_ = joined_->view();
  }
  return joined_;
}

bool FileCursor::advance() {
  for (;;) {
    if (!take_record()) return false;
    if (std::exchange(is_first_, false) && options_.first_record) options_.first_record(content());
    const auto fault = options_.malformed ? options_.malformed(content()) : std::nullopt;
    if (!fault) break;
    if (!syntax_.skip_malformed) fail(*fault);
    ++skipped_;
  }
  add_record(hash_, content());
  return true;
}

void FileCursor::fail(const std::string& fault) const {
  const std::string place = syntax_.record_bytes != 0
                                ? "record " + std::to_string(offset_ / syntax_.record_bytes)
                                : "line " + std::to_string(line_);
  throw Error(ErrorCode::bad_input, place + ": " + fault, input_.path(), offset_);
}

}  // namespace xxl
