#include "job/general_sort/file_cursor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/machine_limits.h"
#include "base/units.h"
#include "io/input_checks.h"
#include "job/general_sort/general_reader.h"
#include "job/general_sort/long_records.h"

namespace xxl {

namespace {

constexpr std::size_t kFewBytes = kMiB;  // of a string, which doubles as it grows

}  // namespace

std::size_t JoinedRecord::memory_bytes(std::size_t bytes) {
  constexpr std::size_t kFirstBytes = 4 * kKiB;
  constexpr std::size_t kPageBytes = 2 * kMiB;  // as the region may have them
  return bytes <= kFewBytes ? 2 * std::bit_ceil(std::max(bytes, kFirstBytes))
                            : round_up(bytes, kPageBytes);
}

bool JoinedRecord::append(std::string_view bytes) {
  const std::size_t wanted = size_ + bytes.size();
  const std::size_t needed = memory_bytes(wanted);
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

FileCursor::FileCursor(io::File& input, const GeneralSortOptions& options,
                       std::span<std::byte> memory, std::size_t& budget, io::IoService& io,
                       Monitor& monitor, MultisetHash& hash, RowFaultLog& log, std::size_t number)
    : input_(input),
      options_(options),
      syntax_(options.syntax),
      number_(number),
      tag_bytes_(options.put_tag_bytes()),
      tag_(tag_bytes_ == 0 ? 0 : options.tags.of(0, number)),
      budget_(budget),
      splitter_(row_splitter(syntax_)),
      hash_(hash),
      log_(log),
      reader_(input, memory, io, monitor) {}

// Reads on. False at the end.
bool FileCursor::next_text() {
  if (behind_.empty()) {
    const std::span<std::byte> buffer = reader_.next();
    source_ = {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
  } else {
    source_ = std::exchange(behind_, {});
  }
  again_.reset();
  text_ = source_;
  return !text_.empty();
}

// The bytes of the record, whose next ones are the text; none if it goes on behind that. Without
// its frame, they are what has been joined and the start of the text, or of a row less than has
// been joined. `at_end`: there is no more text.
std::optional<std::size_t> FileCursor::find_end(bool at_end) {
  if (may_be_comment_ && !find_comment(at_end)) return std::nullopt;
  if (syntax_.quoted() && !may_be_comment_) {
    const auto row = splitter_.next(text_, at_end);
    return row ? std::optional(row->size) : std::nullopt;
  }
  const std::size_t joined = joined_ == nullptr ? 0 : joined_->view().size() - tag_bytes_;
  if (at_end) return joined;
  const std::size_t end =
      syntax_.record_bytes != 0 ? syntax_.record_bytes - joined : text_.find(syntax_.terminator);
  return end <= text_.size() ? std::optional(joined + end) : std::nullopt;
}

// A comment ends with its line, whatever quotes it has. False if more must be read to tell whether
// it is one. What is none has been joined without having been given to the splitter.
bool FileCursor::find_comment(bool at_end) {
  const std::string_view joined =
      joined_ == nullptr ? std::string_view() : joined_->view().substr(tag_bytes_);
  constexpr std::size_t kEnough = 2 * FieldSeparator::kMaxBytes;
  const std::string start = std::string(joined.substr(0, kEnough)).append(text_.substr(0, kEnough));
  const std::optional<bool> is_comment = starts_comment(start, syntax_.fields);
  if (!is_comment && !at_end) return false;
  may_be_comment_ = is_comment.value_or(false);
  if (!may_be_comment_ && !joined.empty()) splitter_.next(joined, false);
  return true;
}

// Makes the record of the first `bytes` of what has been joined; the rest is to be read again.
void FileCursor::take_joined(std::size_t bytes) {
  again_ = std::exchange(joined_, nullptr);
  behind_ = text_;
  source_ = again_->view();
  record_ = source_.substr(0, tag_bytes_ + bytes);
  text_ = source_.substr(record_.size());
}

void FileCursor::join(std::string_view part) {
  if (joined_ == nullptr) {
    joined_ = std::make_shared<JoinedRecord>(budget_);
    if (tag_bytes_ != 0) {
      char tag[kTagBytes];
      put_tag(tag, tag_, tag_bytes_);
      joined_->append({tag, tag_bytes_});
    }
  }
  if (!joined_->append(part)) {
    refuse_joined(part);
  }
}

// Throws LongRecordError: there is no memory for what has been joined and `part`.
void FileCursor::refuse_joined(std::string_view part) {
  const std::string open = open_quote(joined_->view().substr(tag_bytes_), syntax_, line_);
  RecordLengths lengths(syntax_);
  lengths.add(joined_->view().substr(tag_bytes_));
  for (lengths.add(part); lengths.first() == 0;) {
    const std::span<std::byte> more = reader_.next();
    if (more.empty() || lengths.begun() > physical_memory_bytes()) lengths.end();
    lengths.add({reinterpret_cast<const char*>(more.data()), more.size()});
  }
  const auto bytes = static_cast<std::size_t>(lengths.first());
  throw LongRecordError(too_long(bytes, 0, options_.given_memory_bytes(), open), {bytes, bytes},
                        input_.path(), offset_);
}

// Makes the record of what has been joined, if anything, and `part` of the buffer.
void FileCursor::make_record(std::string_view part) {
  if (joined_ == nullptr && static_cast<std::size_t>(part.data() - source_.data()) >= tag_bytes_) {
    char* const to = const_cast<char*>(part.data()) - tag_bytes_;
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
    const bool at_end = text_.empty() && !next_text();
    if (at_end && joined_ == nullptr) return false;
    const std::optional<std::size_t> bytes = find_end(at_end);
    if (!bytes) {
      join(text_);
      text_ = {};
      continue;
    }
    const std::size_t joined = joined_ == nullptr ? 0 : joined_->view().size() - tag_bytes_;
    if (*bytes < joined) {
      take_joined(*bytes);
    } else if (at_end) {  // without its terminator
      if (style_.carriage_return && !joined_->view().ends_with('\r')) join("\r");
      record_ = joined_->view();
    } else {
      make_record(text_.substr(0, *bytes - joined));
      text_.remove_prefix(*bytes - joined);
    }
    // Nothing is left at the end of what has no terminator.
    text_.remove_prefix(std::min(syntax_.frame_bytes(), text_.size()));
    pass(content());
    if (at_end && syntax_.record_bytes != 0) {
      io::check_whole_records(input_, next_offset_, syntax_.record_bytes);
    }
    return true;
  }
}

// Notes what follows `record`.
void FileCursor::pass(std::string_view record) {
  next_offset_ += record.size() + syntax_.frame_bytes();
  ++next_line_;
  if (syntax_.rows) next_line_ += lines_in(record, syntax_);
}

std::optional<std::string> FileCursor::take_header() {
  std::string header;  // behind comments, with blank lines between
  for (std::size_t comments = 0;;) {
    may_be_comment_ = syntax_.fields.comment.size() != 0;
    const bool is_record = take_record();
    check_comments(std::string_view(header).substr(0, comments), !is_record, input_.path());
    if (!is_record) return std::nullopt;
    const bool is_comment = std::exchange(may_be_comment_, false);
    if (!is_comment && !leaves_out(content(), syntax_, style_)) {
      header.resize(comments);
      break;
    }
    header.append(content()).push_back(syntax_.terminator);
    if (is_comment) comments = header.size();
  }
  style_ = style_of(content(), syntax_);
  return header.append(content());
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
    if (leaves_out(content(), syntax_, style_)) continue;
    if (std::exchange(is_first_, false)) {
      if (!syntax_.header) style_ = style_of(content(), syntax_);
      if (options_.first_record) options_.first_record(content());
    }
    const auto fault = options_.malformed ? options_.malformed(content()) : std::nullopt;
    if (!fault) break;
    if (fault->fate == RecordFault::Fate::error) fail(fault->what);
    log_.add(*fault, {number_, offset_, input_.path()}, content(),
             [this] { return line_of_fault(); });
    if (fault->fate == RecordFault::Fate::keep) break;
  }
  add_record(hash_, content());
  return true;
}

std::uint64_t FileCursor::line_of_fault() const {
  return line_ + lines_before_open_quote(content(), syntax_);
}

void FileCursor::fail(const std::string& fault) const {
  const std::string place = syntax_.record_bytes != 0
                                ? "record " + std::to_string(offset_ / syntax_.record_bytes)
                                : "line " + std::to_string(line_of_fault());
  throw Error(ErrorCode::bad_input, place + ": " + fault, input_.path(), offset_);
}

}  // namespace xxl
