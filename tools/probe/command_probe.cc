// xxl probe.
#include <cstdio>
#include <vector>

#include "base/machine_limits.h"
#include "base/units.h"
#include "cli/command.h"
#include "io/disk_probe.h"
#include "job/job_defaults.h"
#include "probe/probe_gpu.h"
#include "report/json.h"

namespace xxl::cli {
namespace {

constexpr std::uint64_t kMinFileBytes = 16 * kMiB;

void print_table(const io::ProbeResult& result) {
  std::printf("%s: %s, %s\n", result.directory.c_str(), result.backend.c_str(),
              result.direct ? "direct" : "through the page cache (no direct I/O here)");
  std::printf("%10s %6s %8s %8s %8s  GB/s\n", "block", "depth", "read", "write", "both");
  for (const io::ProbeRow& row : result.rows) {
    const bool is_choice =
        row.block_bytes == result.choice.block_bytes && row.depth == result.choice.depth;
    std::printf("%10s %6u %8.2f %8.2f %8.2f%s\n", format_bytes(row.block_bytes).c_str(), row.depth,
                row.read_rate / 1e9, row.write_rate / 1e9, row.both_rate / 1e9,
                is_choice ? "  <- choice" : "");
  }
}

void add_row(Json& json, const io::ProbeRow& row) {
  json.member("block_bytes", row.block_bytes)
      .member("depth", row.depth)
      .member("read_bytes_per_second", row.read_rate)
      .member("write_bytes_per_second", row.write_rate)
      .member("both_bytes_per_second", row.both_rate);
}

void add_result(Json& json, const io::ProbeResult& result) {
  json.begin_object()
      .member("directory", result.directory)
      .member("backend", result.backend)
      .member("direct", result.direct)
      .begin_object("choice");
  add_row(json, result.choice);
  json.end_object().begin_array("rows");
  for (const io::ProbeRow& row : result.rows) {
    json.begin_object();
    add_row(json, row);
    json.end_object();
  }
  json.end_array().end_object();
}

io::ProbeOptions probe_options(const ParsedOptions& options) {
  io::ProbeOptions probe;
  if (options.has("size")) {
    probe.file_bytes = parse_size(options.value("size", ""), "--size", physical_memory_bytes());
    if (probe.file_bytes < kMinFileBytes) {
      throw_usage(options.command(), "--size is too small: give at least 16M");
    }
  }
  probe.seconds = static_cast<double>(
      options.number("seconds", static_cast<std::uint64_t>(probe.seconds), 1, kMaxProbeSeconds));
  return probe;
}

}  // namespace

int run_probe(const ParsedOptions& options) {
  if (options.has("gpu")) return run_probe_gpu(options);
  const io::ProbeOptions probe = probe_options(options);
  std::vector<std::string> directories = options.operands();
  if (directories.empty()) directories.push_back(default_scratch_dir());

  Json json;
  json.begin_object().begin_array("directories");
  for (const std::string& directory : directories) {
    const io::ProbeResult result = io::probe_directory(directory, probe);
    if (options.has("json")) {
      add_result(json, result);
    } else {
      print_table(result);
    }
  }
  json.end_array().end_object();
  if (options.has("json")) std::printf("%s\n", json.text().c_str());
  return kExitSuccess;
}

}  // namespace xxl::cli
