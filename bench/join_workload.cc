// Makes two relations to be joined, and says what their inner join is. Prints one line of JSON.
//
//   join_workload [--record=kv32|kv64] [--r=N] [--s=N] [--zipf=THETA] [--selectivity=X]
//                 [--sorted] [--seed=N] R_FILE S_FILE
//
// The keys of R are unique and in random order. A record of S has, with the probability X
// (default 1), the key of a record of R: any with the same probability, or, with THETA > 0, the
// i-th most frequent one with a probability proportional to 1 / i^THETA; else a key that does not
// occur in R. Values are the numbers of records. --sorted has both files sorted by xxl's library.
//
// Nothing is remembered of R: its i-th key is a permutation of i over the whole key space, and
// which record is the i-th most frequent is another one over the numbers of its records.
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"
#include "bench/join_rows.h"
#include "job/fixed_sort/fixed_sort.h"
#include "testdata/distributions.h"

namespace {

using xxl::Error;
using xxl::ErrorCode;

// A permutation of the numbers of 2 * `half_bits` bits: four rounds of Feistel's network.
class Feistel {
 public:
  Feistel(unsigned half_bits, std::uint64_t seed)
      : half_bits_(half_bits), mask_((std::uint64_t{1} << half_bits) - 1) {
    xxl::Random random(seed);
    for (std::uint64_t& key : keys_) key = random();
  }

  std::uint64_t operator()(std::uint64_t value) const {
    std::uint64_t left = value >> half_bits_, right = value & mask_;
    for (const std::uint64_t key : keys_) {
      const std::uint64_t mixed = (right ^ key) * 0xd6e8feb86659fd93u;
      const std::uint64_t next = left ^ ((mixed ^ mixed >> 32) & mask_);
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }

 private:
  unsigned half_bits_;
  std::uint64_t mask_;
  std::uint64_t keys_[4];
};

// A permutation of 0 .. count - 1: one of a space up to four times as large, applied until it
// leads back into it.
class Shuffle {
 public:
  Shuffle(std::uint64_t count, std::uint64_t seed)
      : count_(count), wide_((static_cast<unsigned>(std::bit_width(count)) + 1) / 2, seed) {}
  std::uint64_t operator()(std::uint64_t value) const {
    do value = wide_(value);
    while (value >= count_);
    return value;
  }

 private:
  std::uint64_t count_;
  Feistel wide_;
};

// A file that is written record by record.
class RecordFile {
 public:
  RecordFile(const std::string& path, std::size_t field_bytes)
      : path_(path), field_bytes_(field_bytes), file_(std::fopen(path.c_str(), "wb")) {
    if (file_ == nullptr) xxl::throw_io_error(errno, "cannot create", path);
  }
  void add(std::uint64_t key, std::uint64_t value) {
    char record[16];
    std::memcpy(record, &key, field_bytes_);
    std::memcpy(record + field_bytes_, &value, field_bytes_);
    buffer_.append(record, 2 * field_bytes_);
    if (buffer_.size() >= xxl::kMiB) flush();
  }
  void close() {
    flush();
    if (std::fclose(file_) != 0) xxl::throw_io_error(errno, "cannot write", path_);
  }

 private:
  void flush() {
    if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size()) {
      xxl::throw_io_error(errno, "cannot write", path_);
    }
    buffer_.clear();
  }

  std::string path_;
  std::size_t field_bytes_;
  std::FILE* file_;
  std::string buffer_;
};

struct Options {
  std::string record = "kv64";
  std::uint64_t r_records = 1000000;
  std::uint64_t s_records = 1000000;
  double zipf = 0;
  double selectivity = 1;
  bool sorted = false;
  std::uint64_t seed = 1;
  std::vector<std::string> files;
};

double parse_fraction(std::string_view text, const char* option, double high) {
  char* end = nullptr;
  const std::string copy(text);
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0' || !(value >= 0 && value <= high)) {
    throw Error(ErrorCode::usage, std::string("invalid ") + option + " '" + copy + "'");
  }
  return value;
}

Options parse(const std::vector<std::string>& words) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  Options options;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (name == "--record") {
      options.record = value;
    } else if (name == "--r") {
      options.r_records = xxl::parse_number(value, "--r", 1, kMost);
    } else if (name == "--s") {
      options.s_records = xxl::parse_number(value, "--s", 0, kMost);
    } else if (name == "--zipf") {
      options.zipf = parse_fraction(value, "--zipf", 8);
    } else if (name == "--selectivity") {
      options.selectivity = parse_fraction(value, "--selectivity", 1);
    } else if (name == "--seed") {
      options.seed = xxl::parse_number(value, "--seed", 0, kMost);
    } else if (word == "--sorted") {
      options.sorted = true;
    } else if (word.starts_with("--")) {
      throw Error(ErrorCode::usage, "unknown option '" + word + "'");
    } else {
      options.files.push_back(word);
    }
  }
  if (options.files.size() != 2 || (options.record != "kv32" && options.record != "kv64")) {
    throw Error(ErrorCode::usage,
                "usage: join_workload [--record=kv32|kv64] [--r=N] [--s=N] [--zipf=THETA] "
                "[--selectivity=X] [--sorted] [--seed=N] R_FILE S_FILE");
  }
  if (options.record == "kv32" && options.r_records + options.s_records > 0xffffffffu) {
    throw Error(ErrorCode::usage, "there are not so many keys of kv32");
  }
  return options;
}

void sort_file(const std::string& path, const std::string& record) {
  xxl::FixedSortOptions options;
  options.format = xxl::parse_record_format(record);
  options.inputs = {path};
  options.output = path;
  options.memory_bytes = xxl::kGiB;
  const std::string directory = std::filesystem::path(path).parent_path().string();
  options.scratch_dirs = {directory.empty() ? "." : directory};
  xxl::fixed_sort(options);
}

int run(const std::vector<std::string>& words) {
  const Options options = parse(words);
  const std::size_t field_bytes = options.record == "kv32" ? 4 : 8;
  xxl::Random seeds(options.seed);
  const Feistel key_of(static_cast<unsigned>(4 * field_bytes), seeds());
  const Shuffle of_rank(options.r_records, seeds());
  const xxl::Zipf zipf(options.zipf, options.r_records);
  xxl::Random random(seeds());

  RecordFile r(options.files[0], field_bytes);
  for (std::uint64_t i = 0; i < options.r_records; ++i) r.add(key_of(i), i);
  r.close();

  xxl::bench::RowSum rows;
  RecordFile s(options.files[1], field_bytes);
  // A number below this is drawn with the probability wanted.
  const double limit = options.selectivity * 18446744073709551616.0;
  for (std::uint64_t j = 0; j < options.s_records; ++j) {
    if (options.selectivity >= 1 || static_cast<double>(random()) < limit) {
      const std::uint64_t i =
          options.zipf > 0 ? of_rank(zipf(random) - 1) : random.below(options.r_records);
      const std::uint64_t key = key_of(i);
      s.add(key, j);
      rows.add({key, i, j});
    } else {
      s.add(key_of(options.r_records + j), j);
    }
  }
  s.close();
  if (options.sorted) {
    for (const std::string& file : options.files) sort_file(file, options.record);
  }
  std::printf("{\"r\": %ju, \"s\": %ju, \"rows\": %ju, \"sum\": \"%016jx\"}\n",
              std::uintmax_t{options.r_records}, std::uintmax_t{options.s_records},
              std::uintmax_t{rows.rows}, std::uintmax_t{rows.sum});
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const Error& error) {
    std::fprintf(stderr, "join_workload: %s\n", error.what());
    return 2;
  }
}
