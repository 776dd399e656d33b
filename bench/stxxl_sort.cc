// The peer: sorts a file of u64 with STXXL 1.4.1 and prints the seconds it took.
//
//   stxxl_sort [--method=sort|ksort|stream] [--memory=BYTES] [--disk=FILE] INPUT OUTPUT
//
// sort and ksort work in place, on a vector that lies in a file: INPUT is copied to OUTPUT first,
// outside of the time, and padded to whole blocks with the largest key, which is cut off at last
// (STXXL would leave a part of a block in its disk file). They put runs into STXXL's disk file and
// merge them back into OUTPUT. stream reads INPUT and writes OUTPUT. The time ends with fsync in
// each case, so that the work is the same as xxl's: the input read once, runs written and read, the
// output written to disk. Order and checksum are verified afterwards. Prints one line of JSON.
#include <fcntl.h>
#include <stxxl/bits/io/syscall_file.h>
#include <stxxl/bits/mng/config.h>
#include <unistd.h>
#include <stxxl/ksort>
#include <stxxl/sort>
#include <stxxl/stats>
#include <stxxl/stream>
#include <stxxl/vector>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

using Key = std::uint64_t;
// Two pages of one block: all of the memory is left to the sorter.
using Vector = stxxl::vector<Key, 1, stxxl::lru_pager<2>>;

struct Less {
  bool operator()(Key a, Key b) const { return a < b; }
  Key min_value() const { return std::numeric_limits<Key>::min(); }
  Key max_value() const { return std::numeric_limits<Key>::max(); }
};

struct Identity {
  using key_type = Key;
  Key operator()(Key key) const { return key; }
  Key min_value() const { return std::numeric_limits<Key>::min(); }
  Key max_value() const { return std::numeric_limits<Key>::max(); }
};

struct Options {
  std::string method = "sort";
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  std::string disk = "stxxl.disk";
  std::string input;
  std::string output;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value_of = [&word](const std::string& name) -> const char* {
      return word.rfind(name, 0) == 0 ? word.c_str() + name.size() : nullptr;
    };
    if (const char* method = value_of("--method=")) {
      options.method = method;
    } else if (const char* memory = value_of("--memory=")) {
      options.memory_bytes = std::strtoull(memory, nullptr, 10);
    } else if (const char* disk = value_of("--disk=")) {
      options.disk = disk;
    } else {
      (options.input.empty() ? options.input : options.output) = word;
    }
  }
  const std::string& method = options.method;
  if (options.output.empty() || (method != "sort" && method != "ksort" && method != "stream")) {
    throw std::runtime_error(
        "usage: stxxl_sort [--method=sort|ksort|stream] [--memory=BYTES] [--disk=FILE] INPUT "
        "OUTPUT");
  }
  return options;
}

// As the checksum of a multiset: the sum of hashes, whatever their order.
struct Content {
  std::uint64_t keys = 0;
  std::uint64_t sum = 0;
  bool ordered = true;
  friend bool operator==(const Content& a, const Content& b) {
    return a.keys == b.keys && a.sum == b.sum;
  }
};

// Of the first `count`.
Content content_of(const Vector& keys, std::uint64_t count) {
  Content content;
  Key last = 0;
  for (Vector::bufreader_type reader(keys); content.keys != count; ++reader) {
    const Key key = *reader;
    content.ordered &= last <= key;
    last = key;
    content.sum += (key ^ (key >> 29)) * 0x9e3779b97f4a7c15u;
    ++content.keys;
  }
  return content;
}

// Syncs `path` and drops it from the page cache.
void sync(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fsync(fd) != 0) throw std::runtime_error("cannot sync " + path);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
}

// With the largest key, to whole blocks.
void pad(const std::string& path, std::uint64_t bytes) {
  constexpr std::uint64_t kBlock = Vector::block_type::raw_size;
  const std::string padding((kBlock - bytes % kBlock) % kBlock, '\xff');
  std::ofstream file(path, std::ios::binary | std::ios::app);
  if (!file.write(padding.data(), static_cast<std::streamsize>(padding.size())).flush()) {
    throw std::runtime_error("cannot write to " + path);
  }
}

void sort_stream(const Vector& input, Vector& output, std::uint64_t memory_bytes) {
  auto stream = stxxl::stream::streamify(input.begin(), input.end());
  stxxl::stream::sort<decltype(stream), Less> sorted(stream, Less(), memory_bytes);
  output.resize(input.size());
  stxxl::stream::materialize(sorted, output.begin());
  output.flush();
}

int run(const Options& options) {
  using stxxl::file;
  const bool streams = options.method == "stream";
  const std::uint64_t bytes = std::filesystem::file_size(options.input);
  const std::uint64_t keys = bytes / sizeof(Key);
  if (bytes % sizeof(Key) != 0) throw std::runtime_error(options.input + " ends amid a key");
  // Before any vector exists: STXXL looks at its disks once.
  stxxl::config::get_instance()->add_disk(
      stxxl::disk_config(options.disk, bytes + bytes / 4, "syscall direct unlink"));

  stxxl::syscall_file input_file(options.input, file::RDONLY | file::DIRECT);
  const Vector input(&input_file, keys);
  const Content before = content_of(input, keys);
  if (!streams) {
    std::filesystem::copy_file(options.input, options.output,
                               std::filesystem::copy_options::overwrite_existing);
    pad(options.output, bytes);
    sync(options.output);
  }
  const int mode = file::RDWR | file::DIRECT | (streams ? file::CREAT | file::TRUNC : 0);
  stxxl::syscall_file output_file(options.output, mode);
  auto output = std::make_unique<Vector>(&output_file);

  const stxxl::stats_data stats_before(*stxxl::stats::get_instance());
  const auto start = std::chrono::steady_clock::now();
  if (options.method == "sort") {
    stxxl::sort(output->begin(), output->end(), Less(), options.memory_bytes);
  } else if (options.method == "ksort") {
    stxxl::ksort(output->begin(), output->end(), Identity(), options.memory_bytes);
  } else {
    sort_stream(input, *output, options.memory_bytes);
  }
  sync(options.output);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const auto stats = stxxl::stats_data(*stxxl::stats::get_instance()) - stats_before;

  const Content after = content_of(*output, keys);
  output.reset();
  std::filesystem::resize_file(options.output, bytes);
  const bool ok = after.ordered && after == before;
  std::printf(
      "{\"method\": \"%s\", \"seconds\": %.3f, \"io_seconds\": %.3f, \"io_wait_seconds\": %.3f, "
      "\"bytes_read\": %lld, \"bytes_written\": %lld, \"ok\": %s}\n",
      options.method.c_str(), seconds.count(), stats.get_pio_time(), stats.get_io_wait_time(),
      static_cast<long long>(stats.get_read_volume()),
      static_cast<long long>(stats.get_written_volume()), ok ? "true" : "false");
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    // STXXL would leave its logs in the current directory.
    setenv("STXXLLOGFILE", "/dev/null", 1);
    setenv("STXXLERRLOGFILE", "/dev/null", 1);
    return run(parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stxxl_sort: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
