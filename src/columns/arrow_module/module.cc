// The module: the table of its functions, which turn exceptions into failures.
#include <arrow/c/bridge.h>
#include <arrow/config.h>
#include <arrow/util/thread_pool.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "columns/arrow_module/batch_source.h"
#include "columns/arrow_module/compression.h"
#include "columns/arrow_module/failed.h"
#include "columns/arrow_module/ipc_source.h"
#include "columns/arrow_module/memory.h"
#include "columns/arrow_module/parquet_source.h"
#include "columns/arrow_module/write_stream.h"

namespace xxl::arrow_module {
namespace {

using module_table::ExaminedFiles;
using module_table::Format;
using module_table::ModuleTable;
using module_table::SourceFacts;
using module_table::SourceOptions;
using module_table::TargetFacts;
using module_table::TargetOptions;

// What ExaminedFiles::private_data is.
struct ExaminedState {
  std::unique_ptr<BatchSource> batches;
  Failure stream_failure{};
};

ExaminedState& state_of(ExaminedFiles* source) {
  return *static_cast<ExaminedState*>(source->private_data);
}

bool get_schema(ExaminedFiles* source, ArrowSchema* out, Failure* failure) {
  return guarded(
      failure, [&] { check(::arrow::ExportSchema(*state_of(source).batches->schema(), out), ""); });
}

bool leave_out(ExaminedFiles* source, const module_table::FirstRows* first, Failure* failure) {
  return guarded(failure, [&] { state_of(source).batches->leave_out(*first); });
}

bool take_share(ExaminedFiles* source, const module_table::Share* share, Failure* failure) {
  return guarded(failure, [&] { state_of(source).batches->take_share(*share); });
}

bool start(ExaminedFiles* source, const module_table::BatchSizes* sizes, ArrowArrayStream* out,
           Failure* failure) {
  ExaminedState& state = state_of(source);
  return guarded(failure,
                 [&] { export_stream(*state.batches, *sizes, state.stream_failure, out); });
}

const Failure* stream_failure(ExaminedFiles* source) {
  const Failure& failure = state_of(source).stream_failure;
  return failure.text[0] != '\0' ? &failure : nullptr;
}

void get_facts(ExaminedFiles* source, SourceFacts* out) {
  *out = state_of(source).batches->facts();
}

std::uint64_t largest_batch(ExaminedFiles* source) {
  std::uint64_t bytes = 0;
  Failure ignored{};
  guarded(&ignored, [&] { bytes = state_of(source).batches->largest_batch(); });
  return bytes;
}

void release(ExaminedFiles* source) {
  delete static_cast<ExaminedState*>(source->private_data);
  *source = {};
}

// Arrow's threads are shared by all that it does.
void set_threads(std::uint32_t threads) {
  check(::arrow::SetCpuThreadPoolCapacity(static_cast<int>(std::max(threads, 1U))), "");
}

bool open_source(const SourceOptions* options, ExaminedFiles* out, Failure* failure) {
  return guarded(failure, [&] {
    set_threads(options->threads);
    const std::vector<std::string> paths(options->paths, options->paths + options->path_count);
    auto state = std::make_unique<ExaminedState>();
    if (options->format == Format::parquet) {
      state->batches = std::make_unique<ParquetSource>(paths, options->threads);
    } else {
      state->batches = std::make_unique<IpcSource>(paths, options->threads);
    }
    *out = {get_schema, leave_out,     take_share, start,          stream_failure,
            get_facts,  largest_batch, release,    state.release()};
  });
}

bool write_target(const TargetOptions* options, ArrowArrayStream* in, TargetFacts* out,
                  Failure* failure) {
  return guarded(failure, [&] {
    set_threads(options->threads);
    *out = write_stream(*options, in);
  });
}

bool check_compression(Format format, const char* compression, std::int32_t level,
                       Failure* failure) {
  return guarded(failure, [&] { codec_of(format, compression, level); });
}

void limit_memory(std::uint64_t bytes) {
  pool().set_limit(bytes != 0 ? bytes : CountedPool::kNoLimit);
}

std::uint64_t peak_memory_bytes() {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(pool().max_memory(), 0));
}

const char* library_name() {
  static const std::string name = "Apache Arrow " + ::arrow::GetBuildInfo().version_string;
  return name.c_str();
}

}  // namespace
}  // namespace xxl::arrow_module

extern "C" [[gnu::visibility("default")]] const xxl::module_table::ModuleTable* xxl_arrow_module() {
  using namespace xxl::arrow_module;
  static const ModuleTable table{
      xxl::module_table::kVersion, library_name(), open_source,      write_target,
      check_compression,           limit_memory,   peak_memory_bytes};
  return &table;
}
