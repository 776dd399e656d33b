#include "engine/cluster/input_share.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "engine/cluster/message.h"
#include "io/codec.h"
#include "io/transfer.h"

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
Inputs open_files(const RankPaths& of_rank, std::size_t record_bytes, Peers& peers) {
  Inputs inputs = open_inputs(of_rank.paths, record_bytes, true);
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

// Reads [begin, end) of `file` for text: calls visit(byte) until that returns false.
template <class Visit>
void visit_bytes(const io::File& file, std::uint64_t begin, std::uint64_t end, Visit&& visit) {
  constexpr std::uint64_t kFirstBytes = 4 * kKiB, kMostBytes = kMiB;
  for (std::uint64_t bytes = kFirstBytes; begin < end; bytes = std::min(2 * bytes, kMostBytes)) {
    bytes = std::min(bytes, end - begin);
    for (const std::byte byte : io::read_bytes(file, begin, static_cast<std::size_t>(bytes))) {
      if (!visit(static_cast<char>(byte))) return;
    }
    begin += bytes;
  }
}

// What the text of a file says up to some place.
struct TextState {
  bool quoted = false;      // the place is between quotes
  std::uint64_t lines = 0;  // terminators before it

  void pass(char byte, const TextSyntax& syntax) {
    if (byte == syntax.terminator) ++lines;
    if (syntax.quoted && byte == '"') quoted = !quoted;
  }
};

// The end of the record in which byte `at` of `file` lies; `state` becomes that there.
std::uint64_t record_end(const io::File& file, std::uint64_t at, const TextSyntax& syntax,
                         TextState& state) {
  bool ended = false;
  visit_bytes(file, at, file.size(), [&](char byte) {
    ++at;
    state.pass(byte, syntax);
    ended = byte == syntax.terminator && !state.quoted;
    return !ended;
  });
  return at;
}

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

// A step of all ranks: the state before byte starts[rank]. Only in quotes does it matter what came
// before; then every rank reads what lies between its start and the next one.
TextState state_at(Inputs& inputs, const std::vector<std::uint64_t>& starts,
                   const TextSyntax& syntax, Peers& peers) {
  if (!syntax.quoted) return {};
  const std::uint64_t begin = starts[peers.rank()], end = starts[peers.rank() + 1];
  const FilePlace last = place_of(inputs, end);
  TextState passed;  // in the file in which the next rank begins
  const bool whole = end - begin >= last.offset;
  if (last.offset > 0 && end > begin) {
    io::File& file = inputs.files[last.file];
    file.open();
    visit_bytes(file, whole ? 0 : last.offset - (end - begin), last.offset, [&](char byte) {
      passed.pass(byte, syntax);
      return true;
    });
    file.close();
  }
  struct Stretch {
    TextState passed;
    bool from_start;  // of the file
  };
  TextState state;
  const std::vector<Stretch> stretches = gather(peers, Stretch{passed, whole});
  for (std::size_t rank = 0; rank < peers.rank(); ++rank) {
    if (stretches[rank].from_start) state = {};
    state.quoted ^= stretches[rank].passed.quoted;
    state.lines += stretches[rank].passed.lines;
  }
  return state;
}

// Cuts `inputs` where records begin.
void cut_text(Inputs& inputs, const TextSyntax& syntax, Peers& peers) {
  std::vector<std::uint64_t> starts;
  for (std::uint64_t rank = 0; rank <= peers.ranks(); ++rank) {
    starts.push_back(equal_start(inputs.bytes, rank, peers.ranks()));
  }
  TextState state = state_at(inputs, starts, syntax, peers);
  std::uint64_t start = starts[peers.rank()];
  const FilePlace place = place_of(inputs, start);
  if (place.offset > 0) {
    io::File& file = inputs.files[place.file];
    file.open();
    const auto before = static_cast<char>(io::read_bytes(file, place.offset - 1, 1).front());
    if (before != syntax.terminator || state.quoted) {
      start += record_end(file, place.offset, syntax, state) - place.offset;
    }
    file.close();
  }
  starts = gather(peers, start);
  starts.push_back(inputs.bytes);
  cut(inputs, start, starts[peers.rank() + 1]);
  inputs.start_lines = inputs.start > 0 ? state.lines : 0;
}

// Of the first file, without its terminator; none of an empty one.
std::optional<std::string> read_first_record(Inputs& inputs, const TextSyntax& syntax) {
  io::File& file = inputs.files.front();
  if (!file.seekable() || file.size() == 0) return std::nullopt;
  file.open();
  TextState state;
  const std::uint64_t end = record_end(file, 0, syntax, state);
  const auto read = io::read_bytes(file, 0, static_cast<std::size_t>(end));
  file.close();
  std::string record(reinterpret_cast<const char*>(read.data()), read.size());
  if (record.ends_with(syntax.terminator)) record.pop_back();
  return record;
}

// A step of all ranks: the first record of the first one that has any.
std::optional<std::string> first_record(Inputs& inputs, const TextSyntax& syntax, Peers& peers) {
  MessageWriter writer;
  if (const auto record = read_first_record(inputs, syntax)) writer.put_text(*record);
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
  InputShare share{open_files(of_rank, record_bytes, peers)};
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

TextShare open_text_share(const std::vector<std::string>& paths, const TextSyntax& syntax,
                          bool with_first_record, Peers& peers) {
  const RankPaths of_rank(paths, peers.rank());
  TextShare share{{open_files(of_rank, 1, peers)}, {}};
  Inputs& inputs = share.inputs;
  if (with_first_record) share.first_record = first_record(inputs, syntax, peers);
  if (!of_rank.are_of_rank) cut_text(inputs, syntax, peers);
  measure(share, peers);
  return share;
}

}  // namespace xxl
