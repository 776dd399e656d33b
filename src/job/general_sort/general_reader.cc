#include "job/general_sort/general_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "io/input_checks.h"
#include "io/open_files.h"

namespace xxl {
namespace {

// Behind what is read of an input: for the carriage return that its last row may lack.
std::size_t added_bytes(const RecordSyntax& syntax) {
  return syntax.rows ? 1 : 0;
}

// For that, at the end of a region.
std::size_t spare_bytes(const RecordSyntax& syntax) {
  return syntax.rows ? kSectorBytes : 0;
}

// Blank lines that `text` begins with, in bytes.
std::size_t blank_lines(std::string_view text, char terminator) {
  std::size_t blank = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == terminator) {
      blank = at + 1;
    } else if (text[at] != '\r' || at != blank) {
      break;
    }
  }
  return blank;
}

// Where `row` has a quote that is not closed; nothing for records of other kinds.
RowFault find_open_quote(std::string_view row, const RecordSyntax& syntax) {
  if (!syntax.quoted()) return {};
  const RowFault fault =
      visit_fields(row, syntax.fields, [](std::size_t, const FieldSpan&) { return true; });
  return fault.kind == RowFault::Kind::unterminated_quote ? fault : RowFault{};
}

}  // namespace

void throw_malformed(const GeneralSegment& segment, std::string_view record,
                     const RecordSyntax& syntax, const std::string& fault,
                     const std::string& path) {
  const auto at = static_cast<std::size_t>(record.data() - segment.text.data());
  const std::uint64_t line = segment.lines + lines_in(segment.text.substr(0, at), syntax) + 1;
  throw Error(
      ErrorCode::bad_input,
      "line " + std::to_string(line + lines_before_open_quote(record, syntax)) + ": " + fault, path,
      segment.offset + at);
}

std::uint64_t lines_in(std::string_view text, const RecordSyntax& syntax) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), syntax.terminator));
}

std::uint64_t lines_before_open_quote(std::string_view record, const RecordSyntax& syntax) {
  return lines_in(record.substr(0, find_open_quote(record, syntax).offset), syntax);
}

std::string open_quote(std::string_view begun, const RecordSyntax& syntax, std::uint64_t line) {
  const RowFault fault = find_open_quote(begun, syntax);
  if (!fault) return {};
  return "line " + std::to_string(line + lines_before_open_quote(begun, syntax)) + ": column " +
         std::to_string(fault.column + 1);
}

GeneralReader::GeneralReader(Inputs& inputs, const RecordSyntax& syntax, io::IoService& io,
                             Monitor& monitor, OnHeader on_header, OnFirst on_first)
    : inputs_(inputs),
      syntax_(syntax),
      io_(io),
      monitor_(monitor),
      on_header_(std::move(on_header)),
      on_first_(std::move(on_first)),
      position_(round_down<std::uint64_t>(inputs.start, kSectorBytes)),
      header_pending_(syntax.header && inputs.start == 0),
      style_(inputs.start_style),
      lines_(inputs.start_lines),
      most_open_(io::files_to_read_ahead(inputs.files.size())),
      open_(static_cast<std::size_t>(std::count_if(
          inputs.files.begin(), inputs.files.end(),
          [](const io::File& input) { return input.seekable() && input.is_open(); }))) {}

GeneralReader::~GeneralReader() {
  if (input_ < inputs_.files.size() && !inputs_.files[input_].seekable()) io_.cancel_streams();
}

bool GeneralReader::can_read_ahead() const {
  return !exhausted() && inputs_.files[input_].seekable() && may_open();
}

// True if what is read next can be opened beside the files that are open.
bool GeneralReader::may_open() const {
  return inputs_.files[input_].is_open() || open_ < most_open_;
}

std::size_t GeneralReader::headroom(std::size_t region_bytes) const {
  if (started_ == 0) return round_up(carry_.size(), kSectorBytes);
  return std::max(kHeadroom, std::min(most_carried_, round_down(region_bytes / 4, kSectorBytes)));
}

void GeneralReader::start(Region& region, std::size_t bytes) {
  region.base = region.memory + region.free_bytes + headroom(region.bytes);
  if (started_++ == 0) take_carry(region);
  region.limit = region.memory + std::min(bytes, region.bytes - spare_bytes(syntax_));
  region.read_end = region.base;
  region.reads.clear();
  region.segments.clear();
  region.first_input = input_;
  region.first_offset = position_;
  start_reads(region);
}

void GeneralReader::start_reads(Region& region) {
  while (!exhausted() && inputs_.files[input_].seekable() && region.room() > 0 && may_open()) {
    start_read(region, region.room());
  }
}

void GeneralReader::start_read(Region& region, std::size_t most) {
  io::File& file = inputs_.files[input_];
  if (!file.is_open()) {
    file.open();
    ++open_;
  }
  const auto shared = region.reads.emplace_back(std::make_shared<Region::Read>());
  Region::Read& read = *shared;
  read.input = input_;
  read.offset = position_;
  read.to = region.read_end;
  read.wanted = static_cast<std::size_t>(
      std::min<std::uint64_t>({kReadBytes, most, file.size() - position_}));
  position_ += read.wanted;
  region.read_end += read.wanted;
  if (position_ == file.size() && !file.has_grown(std::max<std::size_t>(syntax_.record_bytes, 1))) {
    read.ends = true;
    region.read_end = read.to + round_up(read.wanted + added_bytes(syntax_), kSectorBytes);
    ++input_;
    position_ = 0;
  }
  // What was added to a file starts anywhere in a sector, and is not read directly.
  const std::size_t asked = file.direct() ? round_up(read.wanted, kSectorBytes) : read.wanted;
  submit(shared, file, read.offset, {read.to, asked});
}

void GeneralReader::submit(std::shared_ptr<Region::Read> read, const io::File& file,
                           std::uint64_t offset, std::span<std::byte> data) {
  io::Request request{io::Op::read, &file, offset, data, {}};
  request.done = [this, read = std::move(read),
                  token = in_flight_.begin()](const io::Completion& completion) mutable {
    monitor_.change([&] {
      read->completion = completion;
      read->done = true;
    });
    token.reset();
  };
  io_.queue_for(file).submit(std::move(request));
}

void GeneralReader::move_carry(std::byte* to) {
  if (carry_.empty()) return;
  std::memmove(to, carry_.data(), carry_.size());
  carry_ = {reinterpret_cast<const char*>(to), carry_.size()};
}

void GeneralReader::take_carry(const Region& region) {
  XXL_CHECK(has_room_for_carry(region));
  move_carry(region.base - carry_.size());
}

void GeneralReader::wait(Region::Read& read) {
  monitor_.wait([&] { return read.done; });
}

void GeneralReader::check(const Region::Read& read) const {
  io::check_read(inputs_.files[read.input], read.offset, read.wanted, read.completion);
}

void GeneralReader::cancel(Region& region) {
  for (const auto& read : region.reads) wait(*read);
  region.reads.clear();
  --started_;
  input_ = region.first_input;
  position_ = region.first_offset;
}

// Reads on from the current input, which cannot be read at any place.
std::size_t GeneralReader::read_stream(std::byte* to, std::size_t most) {
  io::File& input = inputs_.files[input_];
  input.open();
  const auto read = std::make_shared<Region::Read>();
  submit(read, input, io::Request::kStream, {to, most});
  wait(*read);
  io::check_read(input, position_, 0, read->completion);
  return read->completion.bytes;
}

bool GeneralReader::finish(Region& region) {
  --started_;
  if (region.base >= region.limit) return false;
  take_carry(region);
  std::byte* begin = region.base - carry_.size();  // of the current segment
  std::uint64_t offset = carry_.empty() ? region.first_offset : carry_offset_;
  std::size_t input = carry_.empty() ? region.first_input : carry_input_;
  carry_ = {};
  std::byte* end = region.base;
  if (input == 0 && offset < inputs_.start) {  // what is read begins at a sector
    begin += inputs_.start - offset;
    offset = inputs_.start;
  }
  const auto arrived = [&](std::size_t bytes, bool ends) {
    end += bytes;
    bytes_read_ += bytes;
    if (!ends) return;
    close_segment(region, begin, end, input, offset, true);
    ++input;
    offset = 0;
    begin = end = region.read_end;
  };
  const auto await = [&](Region::Read& read) {
    if (read.input != input) {  // empty files lie between
      input = read.input;
      offset = read.offset;
    }
    if (begin == end) begin = end = read.to;
    wait(read);
    check(read);
    if (read.ends) {
      inputs_.files[read.input].close();
      --open_;
    }
    arrived(read.wanted, read.ends);
  };
  for (std::size_t next = 0;;) {
    if (next < region.reads.size()) {
      await(*region.reads[next++]);
      if (started_ == 0) start_reads(region);
      continue;
    }
    // If a chunk has been started after this one, it has what comes next: this one ended before its
    // region did, because no more files could be opened.
    if (started_ > 0 || exhausted() || region.room() == 0) break;
    if (inputs_.files[input_].seekable()) {
      start_read(region, region.room());
      continue;
    }
    if (input != input_) {
      input = input_;
      offset = 0;
    }
    if (begin == end) begin = end = region.read_end;
    const std::size_t most = std::min(kReadBytes, region.room());
    const std::size_t bytes = read_stream(end, most);
    position_ += bytes;
    const bool ends = bytes < most;
    region.read_end = end + bytes;
    if (ends) {
      region.read_end =
          region.base + round_up<std::size_t>(region.read_end - region.base +
                                                  static_cast<std::ptrdiff_t>(added_bytes(syntax_)),
                                              kSectorBytes);
      inputs_.files[input_].close();
      ++input_;
      position_ = 0;
    }
    arrived(bytes, ends);
  }
  region.data_end = region.read_end;
  if (end > begin) close_segment(region, begin, end, input, offset, false);
  region.reads.clear();
  return !region.segments.empty() || carry_.empty();
}

// Of `text`, the bytes that are whole records.
std::size_t GeneralReader::whole_records(std::string_view text) const {
  if (syntax_.counted) return visit_counted(text, [](std::string_view) { return true; });
  if (syntax_.record_bytes != 0) return round_down(text.size(), syntax_.record_bytes);
  if (!syntax_.quoted()) {
    const void* last = memrchr(text.data(), syntax_.terminator, text.size());
    return last == nullptr
               ? 0
               : static_cast<std::size_t>(static_cast<const char*>(last) - text.data()) + 1;
  }
  if (!syntax_.tolerant) return scan_quotes(text, syntax_.terminator).if_outside.last;
  RowSplitter splitter = row_splitter(syntax_);
  std::size_t whole = 0;
  while (whole < text.size()) {
    const auto row = splitter.next(text.substr(whole), false);
    if (!row) break;
    whole += row->size + 1;
  }
  return whole;
}

void GeneralReader::close_segment(Region& region, std::byte* begin, std::byte* end,
                                  std::size_t input, std::uint64_t offset, bool input_ends) {
  std::string_view text(reinterpret_cast<const char*>(begin),
                        static_cast<std::size_t>(end - begin));
  if (header_pending_) {
    const std::size_t comments = take_comments(text, input, input_ends);
    lines_ += lines_in(text.substr(0, comments), syntax_);
    text.remove_prefix(comments);
    offset += comments;
  }
  if (!input_ends) {
    const std::size_t whole = whole_records(text);
    carry_ = text.substr(whole);
    most_carried_ = std::max(most_carried_, round_up(carry_.size(), kSectorBytes));
    carry_input_ = input;
    carry_offset_ = offset + whole;
    text = text.substr(0, whole);
  }
  if (input_ends && syntax_.record_bytes != 0) {
    io::check_whole_records(inputs_.files[input], offset + text.size(), syntax_.record_bytes);
  }
  const std::uint64_t lines = lines_;
  if (syntax_.rows) {
    lines_ += lines_in(text, syntax_);
  }
  GeneralSegment segment{text, input, offset, lines, place_ + offset};
  see_first(segment);
  if (input_ends) {
    complete_last_row(segment);
    place_ += offset + text.size();
    lines_ = 0;
    header_pending_ = syntax_.header;
    first_pending_ = true;
    style_ = {};
  }
  if (!segment.text.empty()) region.segments.push_back(segment);
}

// The bytes of comments that `text` begins with.
std::size_t GeneralReader::take_comments(std::string_view text, std::size_t input,
                                         bool input_ends) {
  const std::size_t bytes = comment_bytes(text, syntax_.fields);
  comments_.append(text.substr(0, bytes));
  check_comments(comments_, input_ends && text.size() == bytes, inputs_.files[input].path());
  return bytes;
}

// Takes the header off, if it is there, and hands out the first record.
void GeneralReader::see_first(GeneralSegment& segment) {
  const auto take = [&](std::size_t bytes) {
    segment.lines += lines_in(segment.text.substr(0, bytes), syntax_);
    segment.text.remove_prefix(bytes);
    segment.offset += bytes;
    segment.place += bytes;
  };
  const auto take_blank_lines = [&] {
    if (syntax_.rows && !style_.one_column) {
      take(blank_lines(segment.text, syntax_.terminator));
    }
  };
  if (header_pending_ || first_pending_) take_blank_lines();
  if (header_pending_ && !segment.text.empty()) {
    header_pending_ = false;
    const std::string_view header = first_record(segment.text, syntax_);
    style_ = style_of(header, syntax_);
    if (!comments_.empty()) {
      on_header_(segment.input, comments_.append(header));
      comments_.clear();
    } else {
      on_header_(segment.input, header);
    }
    take(std::min(header.size() + 1, segment.text.size()));
    take_blank_lines();
  }
  if (first_pending_ && !segment.text.empty()) {
    first_pending_ = false;
    const std::string_view first = first_record(segment.text, syntax_);
    const bool starts_input = segment.input != 0 || inputs_.start == 0;
    if (!syntax_.header && starts_input) style_ = style_of(first, syntax_);
    if (on_first_) on_first_(first);
  }
  segment.style = style_;
}

// The last row of an input may lack its line end: where the others have a carriage return, it gets
// one.
void GeneralReader::complete_last_row(GeneralSegment& segment) const {
  const std::string_view text = segment.text;
  if (!style_.carriage_return || text.empty() || text.ends_with(syntax_.terminator) ||
      text.ends_with('\r')) {
    return;
  }
  const_cast<char*>(text.data())[text.size()] = '\r';
  segment.text = {text.data(), text.size() + 1};
}

}  // namespace xxl
