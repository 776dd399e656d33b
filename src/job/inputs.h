// The input files of a sort, measured. Only the first is open: there may be more than a process may
// open. It is not if it is a pipe with a name: what is planned before it is read may be planned
// anew, and a pipe that was opened and closed again has lost what was in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "io/file.h"
#include "record/record_syntax.h"
#include "record/text_records.h"

namespace xxl {

struct Inputs {
  std::vector<io::File> files;
  std::uint64_t start = 0;          // of a share: where it begins in the first file
  std::uint64_t start_lines = 0;    // of rows: line ends before that
  RowStyle start_style;             // and what the first row of that file says
  std::uint64_t bytes = 0;          // of the files whose size is known
  bool size_known = true;           // false if one is a pipe or compressed
  std::size_t compressed = 0;       // files
  std::uint64_t decoder_bytes = 0;  // of all of them
  std::uint64_t name_bytes = 0;     // name_memory_bytes() of all

  // Records of `record_bytes` that all of them have now, after what grew was read to its end; none
  // if one is a pipe.
  std::optional<std::uint64_t> records(std::size_t record_bytes) const;

  // What of -S `memory_bytes` is left beside the names. Throws Error{no_space} if that is too
  // little to sort with.
  std::uint64_t memory_beside_names(std::uint64_t memory_bytes) const;

  // Of -S, what is set aside for decoders: one at a time, or with `merges` as many as may take
  // most_for_decoders().
  std::uint64_t set_aside_for_decoders(std::uint64_t memory_bytes, bool merges) const;
  std::uint64_t most_for_decoders(std::uint64_t memory_bytes) const;
  // Throws Error{no_space}: of -S `given` nothing is left beside the largest decoder, `enough`
  // does.
  [[noreturn]] void refuse_decoders(std::uint64_t given, std::uint64_t enough) const;

 private:
  const io::File& largest_decoder() const;
};

// What of -S `memory_bytes` is left beside decoders, of which each of `inputs` has one at a time.
// Throws Error{no_space} if that is less than half.
std::uint64_t memory_beside_decoders(std::uint64_t memory_bytes,
                                     std::initializer_list<const Inputs*> inputs);

// `paths`, or standard input ("-") if there are none. Named again, it gives nothing. A directory of
// parts stands for its files.
std::vector<std::string> input_paths(std::vector<std::string> paths);

// Memory that the names of `paths` take while they are read, beyond what the constant beside -S has
// room for.
std::uint64_t name_memory_bytes(const std::vector<std::string>& paths);

// The one of `inputs` for those who can read but one. Throws Error{usage} if there are more.
io::File& only_file(Inputs& inputs);

// What tells which inputs are compressed: nothing (none is), or the suffixes of their names; for
// text the first bytes, too, where a name does not.
enum class Recognize { nothing, suffix, suffix_and_content };
constexpr Recognize recognize_suffix(bool recognizes) {
  return recognizes ? Recognize::suffix : Recognize::nothing;
}

// How the records of `syntax` are recognized, unless `recognizes` is false.
Recognize recognize_general(const RecordSyntax& syntax, bool recognizes);

// io::File::examine_input(), and File::decompress() or File::recognize() as `recognize` says.
io::File examine_input(const std::string& path, Recognize recognize);

// Examines `paths` as input_paths() has them. Throws Error when one cannot be read, is not a whole
// number of records of `record_bytes`, or has a content that is not text and is not decompressed.
Inputs open_inputs(std::vector<std::string> paths, std::size_t record_bytes, Recognize recognize);
// The same for the records of `syntax`, with recognize_general().
Inputs open_general_inputs(std::vector<std::string> paths, const RecordSyntax& syntax,
                           bool recognizes);

// What a caller writes into `queue`, which messages call `name`, if there is one; 0 bytes: it does
// not say how much.
Inputs input_of_caller(io::IoQueue& queue, const std::string& name = {},
                       std::uint64_t expected_bytes = 0);

}  // namespace xxl
