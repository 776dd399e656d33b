#include "cluster/input_share.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "cluster/message.h"
#include "io/codec.h"
#include "io/transfer.h"
#include "record/text_records.h"

namespace xxl {
namespace {

constexpr const char* kRankInName = "{rank}";

std::string name_for(std::string path, unsigned rank) {
  for (std::size_t at = 0; (at = path.find(kRankInName, at)) != std::string::npos;) {
    const std::string number = std::to_string(rank);
    path.replace(at, std::string(kRankInName).size(), number);
    at += number.size();
  }
  return path;
}

bool names_rank(const std::string& path) {
  return path.find(kRankInName) != std::string::npos;
}

// Of files that are all of a known size, leaves out the empty ones. Throws Error{usage} if one is
// not.
void check_and_drop_empty(Inputs& inputs) {
  std::vector<io::File> kept;
  for (io::File& file : inputs.files) {
    if (!file.seekable() || file.path() == "-") {
      throw Error(ErrorCode::usage,
                  "is not a file of a known size, as ranks need: no pipe, and not compressed",
                  file.path());
    }
    if (file.size() > 0 || (kept.empty() && &file == &inputs.files.back()))
      kept.push_back(std::move(file));
  }
  inputs.files = std::move(kept);
}

void check_sizes(const Inputs& inputs, Peers& peers) {
  MessageWriter writer;
  for (const io::File& file : inputs.files) writer.put(file.size());
  const std::vector<Message> sizes = tell_all(peers, writer.take());
  MessageReader first(sizes.front());
  MessageReader own(sizes[peers.rank()]);
  const bool same_files = sizes.front().size() == sizes[peers.rank()].size();
  for (const io::File& file : inputs.files) {
    const auto here = own.get<std::uint64_t>();
    const std::uint64_t there = same_files ? first.get<std::uint64_t>() : ~here;
    if (here == there) continue;
    throw Error(ErrorCode::bad_input,
                "is another file for rank " + std::to_string(peers.rank()) +
                    " than for rank 0: give files that all ranks see, or {rank} in the names of "
                    "those of each",
                file.path());
  }
}

// Leaves of `inputs` what lies in [begin, end) of all their bytes.
void cut(Inputs& inputs, std::uint64_t begin, std::uint64_t end) {
  std::vector<io::File> kept;
  std::uint64_t at = 0;
  for (io::File& file : inputs.files) {
    const std::uint64_t start = std::exchange(at, at + file.size());
    if (std::max(begin, start) >= std::min(end, at)) continue;
    if (kept.empty()) inputs.start = std::max(begin, start) - start;
    file.limit_to(std::min(end, at) - start);
    kept.push_back(std::move(file));
  }
  if (kept.empty()) {  // of nothing, there is one file
    if (inputs.files.front().seekable()) inputs.files.front().limit_to(0);
    kept.push_back(std::move(inputs.files.front()));
  }
  inputs.files = std::move(kept);
  inputs.bytes = end - begin;
}

// The files of this rank, or of all of them.
Inputs open_files(const RankPaths& of_rank, const RecordSyntax& syntax, Peers& peers) {
  Inputs inputs = open_general_inputs(of_rank.paths, syntax, true);
  check_and_drop_empty(inputs);
  if (!of_rank.are_of_rank) check_sizes(inputs, peers);
  return inputs;
}

// Of `units`, where a rank's share begins. (Without overflow, for any number of them.)
std::uint64_t equal_start(std::uint64_t units, std::uint64_t rank, std::uint64_t ranks) {
  return units / ranks * rank + units % ranks * rank / ranks;
}

void measure(InputShare& share, Peers& peers) {
  const std::vector<std::uint64_t> bytes = gather(peers, share.inputs.bytes);
  share.largest_bytes = *std::max_element(bytes.begin(), bytes.end());
  share.all_bytes = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

// The records of a file of text, from one of them on.
class RecordScan {
 public:
  // `start`: where a record begins. The references must outlive it.
  RecordScan(const io::File& file, std::uint64_t start, const RecordSyntax& syntax)
      : file_(file),
        syntax_(syntax),
        splitter_(row_splitter(syntax)),
        start_(start),
        at_(start),
        counted_to_(start) {}

  // Where the current record begins; the end of the file behind the last one.
  std::uint64_t start() const { return start_; }

  void next() {
    while (start_ < file_.size()) {
      if (text_.empty()) read();
      const std::optional<std::uint64_t> bytes = find_end();
      if (bytes) return go_to(start_ + *bytes);
      passed_ += text_.size();
      text_ = {};
    }
  }

  // Goes to the first record at `offset` or behind it.
  void skip_to(std::uint64_t offset) {
    while (start_ < offset) next();
  }

  // Terminators before `offset`, from the first start on; asked for before it is read.
  void count_lines_to(std::uint64_t offset) { count_to_ = offset; }
  std::uint64_t lines() const { return lines_; }

 private:
  static constexpr std::uint64_t kFirstBytes = 4 * kKiB, kMostBytes = kMiB;

  void read() {
    wanted_ = std::min(2 * wanted_, kMostBytes);
    read_ = io::read_bytes(
        file_, at_, static_cast<std::size_t>(std::min<std::uint64_t>(wanted_, file_.size() - at_)));
    text_ = {reinterpret_cast<const char*>(read_.data()), read_.size()};
    at_ += read_.size();
    const std::uint64_t to = std::min(at_, count_to_);
    if (counted_to_ >= to) return;
    const auto end = read_.end() - static_cast<std::ptrdiff_t>(at_ - to);
    lines_ +=
        static_cast<std::uint64_t>(std::count(end - static_cast<std::ptrdiff_t>(to - counted_to_),
                                              end, static_cast<std::byte>(syntax_.terminator)));
    counted_to_ = to;
  }

  // The bytes of the record with its terminator, as far as it has one; none if it goes on.
  std::optional<std::uint64_t> find_end() {
    const bool at_end = at_ == file_.size();
    if (syntax_.quoted()) {
      const auto row = splitter_.next(text_, at_end);
      if (!row) return std::nullopt;
      return row->size + (row->terminated ? 1 : 0);
    }
    const std::size_t end = text_.find(syntax_.terminator);
    if (end != text_.npos) return passed_ + end + 1;
    return at_end ? std::optional(passed_ + text_.size()) : std::nullopt;
  }

  // Where a quote was a stray one, that is in what was read before.
  void go_to(std::uint64_t start) {
    start_ = start;
    passed_ = 0;
    const std::uint64_t from = at_ - text_.size();
    text_ =
        start >= from ? text_.substr(static_cast<std::size_t>(start - from)) : std::string_view();
    if (text_.empty()) at_ = start;
  }

  const io::File& file_;
  const RecordSyntax& syntax_;
  RowSplitter splitter_;
  std::uint64_t start_;
  std::uint64_t at_;          // of what is read next
  std::uint64_t passed_ = 0;  // of the record, before the text
  std::uint64_t wanted_ = kFirstBytes / 2;
  std::vector<std::byte> read_;
  std::string_view text_;  // what is left of it
  std::uint64_t count_to_ = 0;
  std::uint64_t counted_to_;
  std::uint64_t lines_ = 0;
};

// Where in its file a byte of all inputs lies; `file` is that behind the last one at their end.
struct FilePlace {
  std::size_t file = 0;
  std::uint64_t offset = 0;
};

FilePlace place_of(const Inputs& inputs, std::uint64_t at) {
  FilePlace place{0, at};
  while (place.file < inputs.files.size() && place.offset >= inputs.files[place.file].size()) {
    place.offset -= inputs.files[place.file++].size();
  }
  return place;
}

// The first line of `file` that begins at `offset` or behind it.
std::uint64_t line_from(const io::File& file, std::uint64_t offset, const RecordSyntax& syntax) {
  const RecordSyntax lines{.terminator = syntax.terminator};
  RecordScan scan(file, offset == 0 ? 0 : offset - 1, lines);
  scan.skip_to(offset);
  return scan.start();
}

// Where the next rank's share begins, in the file into which the end of this one's equal share
// falls: at the first row from there on. That depends on where this rank's first row begins, if
// that is in the same file. As that is known only from all that lies before, it is guessed first:
// at a line. Where the guess was wrong, the rows from the right place soon are the same ones.
class RowCut {
 public:
  // What the others are told.
  struct Found {
    bool from_start = false;  // the file begins in this share: nothing was guessed
    std::uint64_t first = 0;  // where the first row was thought to begin
    std::uint64_t next = 0;   // then that of the next rank begins there
    std::uint64_t lines = 0;  // terminators in the share
  };

  // The share is [begin, end) of the file, unless it starts before that.
  RowCut(const io::File& file, std::uint64_t begin, std::uint64_t end, const RecordSyntax& syntax)
      : file_(file), end_(end), syntax_(syntax) {
    found_.from_start = begin == 0;
    found_.first = line_from(file, begin, syntax);
    RecordScan scan(file, found_.first, syntax);
    scan.count_lines_to(end);
    for (; scan.start() < end_; scan.next()) {
      if (scan.start() - found_.first < kRememberedBytes) rows_.push_back(scan.start());
    }
    found_.next = scan.start();
    found_.lines = scan.lines() + (begin < found_.first && found_.first <= end ? 1 : 0);
  }

  const Found& found() const { return found_; }

  // The first row begins at `first`.
  void correct(std::uint64_t first) {
    found_.first = first;
    RecordScan scan(file_, first, syntax_);
    for (; scan.start() < end_; scan.next()) {
      if (std::binary_search(rows_.begin(), rows_.end(), scan.start())) return;
    }
    found_.next = scan.start();
  }

 private:
  static constexpr std::uint64_t kRememberedBytes = 256 * kKiB;

  const io::File& file_;
  std::uint64_t end_;
  const RecordSyntax& syntax_;
  Found found_;
  std::vector<std::uint64_t> rows_;  // where the first ones begin
};

struct RowStart {
  std::uint64_t offset = 0;  // in its file
  std::uint64_t lines = 0;   // of the file, before the equal share of the rank
};

// A step of all ranks: where the rows of this rank begin, in the file into which starts[rank]
// falls. Every rank reads what lies between its start and the next one.
RowStart row_start(Inputs& inputs, const std::vector<std::uint64_t>& starts,
                   const RecordSyntax& syntax, Peers& peers) {
  const std::uint64_t begin = starts[peers.rank()], end = starts[peers.rank() + 1];
  const FilePlace last = place_of(inputs, end);
  std::optional<RowCut> cut;
  if (last.offset > 0) {
    io::File& file = inputs.files[last.file];
    file.open();
    cut.emplace(file, last.offset - std::min(last.offset, end - begin), last.offset, syntax);
  }
  for (;;) {
    const auto found = gather(peers, cut ? cut->found() : RowCut::Found{.from_start = true});
    RowStart start, own;
    unsigned rank = 0;
    for (; rank < peers.ranks(); ++rank) {
      if (rank == peers.rank()) own = start;
      if (found[rank].from_start) {
        start = {};
      } else if (found[rank].first != start.offset) {
        break;
      }
      start = {found[rank].next, start.lines + found[rank].lines};
    }
    if (rank == peers.rank()) {
      cut->correct(start.offset);
    } else if (rank == peers.ranks()) {
      if (cut) inputs.files[last.file].close();
      return own;
    }
  }
}

// Of [begin, end) of `file`.
std::uint64_t count_lines(const io::File& file, std::uint64_t begin, std::uint64_t end,
                          const RecordSyntax& syntax) {
  constexpr std::uint64_t kBytes = kMiB;
  std::uint64_t lines = 0;
  for (; begin < end; begin += std::min(kBytes, end - begin)) {
    const auto bytes =
        io::read_bytes(file, begin, static_cast<std::size_t>(std::min(kBytes, end - begin)));
    lines += static_cast<std::uint64_t>(
        std::count(bytes.begin(), bytes.end(), static_cast<std::byte>(syntax.terminator)));
  }
  return lines;
}

// Of a file of text: its first record that is no blank line among rows, without its terminator.
// None of an empty one.
std::optional<std::string> first_row(const io::File& file, const RecordSyntax& syntax) {
  RecordScan scan(file, 0, syntax);
  std::string record;
  for (std::uint64_t begin = 0; begin < file.size(); begin = scan.start()) {
    scan.next();
    const auto read = io::read_bytes(file, begin, static_cast<std::size_t>(scan.start() - begin));
    record.assign(reinterpret_cast<const char*>(read.data()), read.size());
    if (record.ends_with(syntax.terminator)) record.pop_back();
    if (!leaves_out(record, syntax, {})) return record;
  }
  return std::nullopt;
}

// Cuts `inputs` where records begin.
void cut_at_records(Inputs& inputs, const RecordSyntax& syntax, Peers& peers) {
  std::vector<std::uint64_t> starts;
  for (std::uint64_t rank = 0; rank <= peers.ranks(); ++rank) {
    starts.push_back(equal_start(inputs.bytes, rank, peers.ranks()));
  }
  const std::uint64_t equal = starts[peers.rank()];
  const FilePlace place = place_of(inputs, equal);
  RowStart start;
  RowStyle style;
  if (syntax.rows) start = row_start(inputs, starts, syntax, peers);
  if (place.offset > 0) {
    io::File& file = inputs.files[place.file];
    file.open();
    if (syntax.rows) {
      start.lines += count_lines(file, place.offset, start.offset, syntax);
      style = style_of(first_row(file, syntax).value_or(""), syntax);
    } else {
      start.offset = line_from(file, place.offset, syntax);
    }
    file.close();
  }
  starts = gather(peers, equal - place.offset + start.offset);
  starts.push_back(inputs.bytes);
  cut(inputs, starts[peers.rank()], starts[peers.rank() + 1]);
  if (inputs.start == 0) return;
  inputs.start_lines = start.lines;
  inputs.start_style = style;
}

// A step of all ranks: the first record of the first one that has any.
std::optional<std::string> first_record(Inputs& inputs, const RecordSyntax& syntax, Peers& peers) {
  MessageWriter writer;
  io::File& file = inputs.files.front();
  if (file.seekable() && file.size() > 0) {
    file.open();
    if (const auto record = first_row(file, syntax)) writer.put_text(*record);
    file.close();
  }
  for (const Message& message : tell_all(peers, writer.take())) {
    if (!message.empty()) return MessageReader(message).get_text();
  }
  return std::nullopt;
}

}  // namespace

RankPaths::RankPaths(const std::vector<std::string>& given, unsigned rank) {
  const auto count = std::count_if(given.begin(), given.end(), names_rank);
  if (count != 0 && count != static_cast<std::ptrdiff_t>(given.size())) {
    throw Error(ErrorCode::usage,
                "files of ranks, with {rank} in their names, cannot be given together with others");
  }
  are_of_rank = count != 0;
  for (const std::string& path : given) paths.push_back(name_for(path, rank));
}

InputShare open_share(const std::vector<std::string>& paths, std::size_t record_bytes,
                      Peers& peers) {
  const RankPaths of_rank(paths, peers.rank());
  InputShare share{open_files(of_rank, RecordSyntax{.record_bytes = record_bytes}, peers)};
  if (!of_rank.are_of_rank) {
    const std::uint64_t records = share.inputs.bytes / record_bytes;
    const auto start_of = [&](std::uint64_t rank) {
      return equal_start(records, rank, peers.ranks()) * record_bytes;
    };
    cut(share.inputs, start_of(peers.rank()), start_of(peers.rank() + 1));
  }
  measure(share, peers);
  return share;
}

GeneralShare open_general_share(const std::vector<std::string>& paths, const RecordSyntax& syntax,
                                bool with_first_record, Peers& peers) {
  const RankPaths of_rank(paths, peers.rank());
  GeneralShare share{{open_files(of_rank, syntax, peers)}, {}};
  Inputs& inputs = share.inputs;
  if (with_first_record) share.first_record = first_record(inputs, syntax, peers);
  if (!of_rank.are_of_rank) cut_at_records(inputs, syntax, peers);
  measure(share, peers);
  return share;
}

}  // namespace xxl
