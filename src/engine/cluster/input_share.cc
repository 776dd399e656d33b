#include "engine/cluster/input_share.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "engine/cluster/message.h"
#include "io/codec.h"

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

// Throws Error{usage} unless all or none of them are files of a rank.
bool are_of_ranks(const std::vector<std::string>& paths) {
  const auto count = std::count_if(paths.begin(), paths.end(), names_rank);
  if (count != 0 && count != static_cast<std::ptrdiff_t>(paths.size())) {
    throw Error(ErrorCode::usage,
                "files of ranks, with {rank} in their names, cannot be given together with others");
  }
  return count != 0;
}

// True for a file that says that it is empty, and is: those of /proc say so, too.
bool is_empty(io::File& file) {
  if (!file.is_stored()) return false;
  file.open();
  std::byte first;
  const bool empty = pread(file.fd(), &first, 1, 0) == 0;
  file.close();
  return empty;
}

// Of files that are all of a known size, leaves out the empty ones. Throws Error{usage} if one is
// not.
void check_and_drop_empty(Inputs& inputs) {
  std::vector<io::File> kept;
  for (io::File& file : inputs.files) {
    const bool empty = inputs.compressed == 0 && !file.seekable() && is_empty(file);
    if (!empty && (!file.seekable() || file.path() == "-")) {
      throw Error(ErrorCode::usage,
                  "is not a file of a known size, as ranks need: no pipe, and not compressed",
                  file.path());
    }
    if (!empty || (kept.empty() && &file == &inputs.files.back())) kept.push_back(std::move(file));
  }
  inputs.files = std::move(kept);
  inputs.size_known = true;
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

}  // namespace

InputShare open_share(const std::vector<std::string>& paths, std::size_t record_bytes,
                      Peers& peers) {
  const bool of_ranks = are_of_ranks(paths);
  std::vector<std::string> names;
  for (const std::string& path : paths) names.push_back(name_for(path, peers.rank()));
  InputShare share;
  share.inputs = open_inputs(std::move(names), record_bytes, true);
  check_and_drop_empty(share.inputs);
  if (!of_ranks) {
    check_sizes(share.inputs, peers);
    const std::uint64_t records = share.inputs.bytes / record_bytes;
    const auto start_of = [&](std::uint64_t rank) {
      // (Without overflow, for any number of records.)
      const std::uint64_t ranks = peers.ranks();
      return (records / ranks * rank + records % ranks * rank / ranks) * record_bytes;
    };
    cut(share.inputs, start_of(peers.rank()), start_of(peers.rank() + 1));
  }
  const std::vector<std::uint64_t> bytes = gather(peers, share.inputs.bytes);
  share.largest_bytes = *std::max_element(bytes.begin(), bytes.end());
  share.all_bytes = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  return share;
}

}  // namespace xxl
