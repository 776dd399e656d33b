#include "columns/files/column_target.h"

#include <cerrno>
#include <cstddef>
#include <span>

#include "columns/files/load_module.h"
#include "io/io_queue.h"
#include "io/transfer.h"
#include "xxl/error.h"

namespace xxl {
namespace {

bool is_file(const std::string& path) {
  return path != "-" && io::OutputFile::is_replaceable(path);
}

}  // namespace

// Called by the module, which knows no exceptions.
template <class Work>
bool ColumnTarget::call(Work&& work) {
  try {
    work();
    return true;
  } catch (...) {
    failed_ = std::current_exception();
    return false;
  }
}

module_table::TargetFacts ColumnTarget::write(module_table::TargetOptions options,
                                              ArrowArrayStream* in) {
  options.write = [](void* self, const void* data, std::uint64_t bytes) {
    auto& target = *static_cast<ColumnTarget*>(self);
    return target.call([&] {
      target.put({static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes)});
      target.bytes_ += bytes;
    });
  };
  const auto& rules = options.parts;
  if (rules.parts != 0 || rules.bytes != 0 || rules.column != nullptr) {
    options.end_part = [](void* self, const module_table::PartFacts* part) {
      auto& target = *static_cast<ColumnTarget*>(self);
      return target.call([&] { target.end_part(*part); });
    };
  }
  options.context = this;
  module_table::TargetFacts facts{};
  module_table::Failure failure{};
  const bool written = load_arrow_module().write_target(&options, in, &facts, &failure);
  if (failed_) std::rethrow_exception(failed_);
  if (!written) throw_failure(failure);
  return facts;
}

ColumnFile::ColumnFile(const std::string& path, const std::vector<std::string>& scratch_dirs,
                       bool verify)
    : path_(path) {
  if (is_file(path)) {
    file_.emplace(path, false, scratch_dirs);
    if (verify) file_->prepare_to_verify();
  } else {
    stream_ = io::open_output_stream(path, verify);
  }
}

void ColumnFile::put(std::span<const std::byte> data) {
  if (file_) {
    io::write_at(file_->file(), bytes_written(), data);
  } else {
    io::write_at(stream_, io::Request::kStream, data);
  }
}

void ColumnFile::publish(io::ReadBack* read_back) {
  if (file_) {
    file_->publish(bytes_written(), read_back);
  } else {
    io::end_output_stream(path_, stream_);
  }
}

module_table::Format ipc_format_of(const std::string& path) {
  const bool stream = !is_file(path) || path.ends_with(".arrows");
  return stream ? module_table::Format::ipc_stream : module_table::Format::ipc_file;
}

}  // namespace xxl
