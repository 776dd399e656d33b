#include "job/inputs.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/memory_name.h"
#include "base/units.h"
#include "io/codec.h"
#include "io/input_checks.h"
#include "io/io_queue.h"
#include "job/job_defaults.h"
#include "job/part_directory.h"

namespace xxl {
namespace {

// The constant beside -S has room for the usual decoder.
constexpr std::uint64_t kDecoderBytesOfConstant = 12 * kMiB;
// Likewise for names.
constexpr std::uint64_t kNameBytesOfConstant = 8 * kMiB;
// There may be as many copies of a name: those of the caller, of jobs and their parts, and of
// files.
constexpr std::uint64_t kNameCopies = 5;
constexpr std::size_t kHeapBytes = 24;  // for each

constexpr std::uint64_t kDecoderPart = 4;  // of -S, at most, unless one alone takes more

}  // namespace

std::vector<std::string> input_paths(std::vector<std::string> paths) {
  if (paths.empty()) return {"-"};
  const auto first = std::find(paths.begin(), paths.end(), "-");
  if (first != paths.end()) paths.erase(std::remove(first + 1, paths.end(), "-"), paths.end());
  return with_parts(std::move(paths));
}

io::File& only_file(Inputs& inputs) {
  if (inputs.files.size() > 1) {
    throw Error(ErrorCode::usage,
                "is one of " + std::to_string(inputs.files.size()) +
                    " parts, and only one file can be checked or read in its order here: give "
                    "each of them by its name (to merge all in order, use xxl sort -m)",
                inputs.files.front().path());
  }
  return inputs.files.front();
}

std::optional<std::uint64_t> Inputs::records(std::size_t record_bytes) const {
  if (!size_known) return std::nullopt;
  std::uint64_t records = 0;
  for (const io::File& file : files) records += file.size() / record_bytes;
  return records - start / record_bytes;
}

const io::File& Inputs::largest_decoder() const {
  return *std::max_element(files.begin(), files.end(), [](const io::File& a, const io::File& b) {
    return a.decoder_bytes() < b.decoder_bytes();
  });
}

std::uint64_t name_memory_bytes(const std::vector<std::string>& paths) {
  std::uint64_t bytes = 0;
  for (const std::string& path : paths) {
    bytes += sizeof(io::File) + kNameCopies * (sizeof(path) + kHeapBytes + path.size());
  }
  return bytes - std::min(bytes, kNameBytesOfConstant);
}

std::uint64_t Inputs::memory_beside_names(std::uint64_t memory_bytes) const {
  if (name_bytes == 0) return memory_bytes;
  const std::uint64_t enough = name_bytes + kLeastMemoryBytes;
  if (memory_bytes < enough) {
    throw Error(ErrorCode::no_space, "the names of " + std::to_string(files.size()) +
                                         " files take " + format_bytes(name_bytes) +
                                         " of memory, too much for " + memory_given(memory_bytes) +
                                         ": " + memory_to_give(enough) + " is enough");
  }
  return memory_bytes - name_bytes;
}

std::uint64_t Inputs::most_for_decoders(std::uint64_t memory_bytes) const {
  return std::max<std::uint64_t>(largest_decoder().decoder_bytes(),
                                 kDecoderBytesOfConstant + memory_bytes / kDecoderPart);
}

std::uint64_t Inputs::set_aside_for_decoders(std::uint64_t memory_bytes, bool merges) const {
  const std::uint64_t taken = merges ? std::min(decoder_bytes, most_for_decoders(memory_bytes))
                                     : largest_decoder().decoder_bytes();
  return taken - std::min(taken, kDecoderBytesOfConstant);
}

void Inputs::refuse_decoders(std::uint64_t given, std::uint64_t enough) const {
  const io::File& largest = largest_decoder();
  throw Error(ErrorCode::no_space,
              "decompressing it takes " + format_bytes(largest.decoder_bytes()) +
                  " of memory, too much for " + memory_given(given) + ": " +
                  memory_to_give(enough) + " is enough",
              largest.path());
}

std::uint64_t memory_beside_decoders(std::uint64_t memory_bytes,
                                     std::initializer_list<const Inputs*> inputs) {
  std::uint64_t decoders = 0;
  for (const Inputs* input : inputs) decoders += input->set_aside_for_decoders(memory_bytes, false);
  for (const Inputs* input : inputs) {
    if (decoders > memory_bytes / 2 && input->compressed > 0) {
      input->refuse_decoders(memory_bytes, 2 * decoders);
    }
  }
  return memory_bytes - decoders;
}

Recognize recognize_general(const RecordSyntax& syntax, bool recognizes) {
  if (!recognizes) return Recognize::nothing;
  const bool is_text = syntax.record_bytes == 0 && !syntax.counted;
  return is_text ? Recognize::suffix_and_content : Recognize::suffix;
}

io::File examine_input(const std::string& path, Recognize recognize) {
  io::File file = io::File::examine_input(path);
  const Codec codec = recognize != Recognize::nothing ? io::codec_of(path) : Codec::none;
  const bool is_text = recognize == Recognize::suffix_and_content;
  if (codec != Codec::none) {
    file.decompress(codec, is_text);
  } else if (is_text) {
    file.recognize();
  }
  return file;
}

Inputs open_inputs(std::vector<std::string> paths, std::size_t record_bytes, Recognize recognize) {
  Inputs inputs;
  paths = input_paths(std::move(paths));
  inputs.name_bytes = name_memory_bytes(paths);
  inputs.files.reserve(paths.size());
  for (std::string& given : paths) {
    const std::string path = std::exchange(given, {});
    io::File file = examine_input(path, recognize);
    if (file.decoder_bytes() > 0) {
      ++inputs.compressed;
      inputs.decoder_bytes += file.decoder_bytes();
    }
    if (file.seekable()) {
      io::check_whole_records(file, file.size(), record_bytes);
      inputs.bytes += file.size();
    } else {
      inputs.size_known = false;
    }
    if (!inputs.files.empty()) file.close();
    inputs.files.push_back(std::move(file));
  }
  return inputs;
}

Inputs open_general_inputs(std::vector<std::string> paths, const RecordSyntax& syntax,
                           bool recognizes) {
  return open_inputs(std::move(paths), std::max<std::size_t>(syntax.record_bytes, 1),
                     recognize_general(syntax, recognizes));
}

Inputs input_of_caller(io::IoQueue& queue, const std::string& name, std::uint64_t expected_bytes) {
  Inputs inputs;
  inputs.files.push_back(io::File::of_caller(queue, name));
  inputs.size_known = false;
  inputs.bytes = expected_bytes;
  return inputs;
}

}  // namespace xxl
