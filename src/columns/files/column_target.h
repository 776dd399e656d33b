// Files of columns that are written: complete in their place at the end, or not at all.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "columns/files/module_table.h"
#include "io/file.h"
#include "io/output_file.h"
#include "io/read_back.h"

namespace xxl {

class ColumnTarget {
 public:
  virtual ~ColumnTarget() = default;

  // Writes all rows of `in`. `options` without functions and `context`. Throws Error; then nothing
  // has appeared.
  module_table::TargetFacts write(module_table::TargetOptions options, ArrowArrayStream* in);
  // Makes what was written appear. `read_back`: to verify it; null: it is not. Throws Error.
  virtual void publish(io::ReadBack* read_back) = 0;

  std::uint64_t bytes_written() const { return bytes_; }
  // True if an existing file was written in place. After publish().
  virtual bool in_place() const { return false; }

 protected:
  // Takes the next bytes of the present file. Throws Error.
  virtual void put(std::span<const std::byte> data) = 0;
  // The present file is complete. Only with PartRules.
  virtual void end_part(const module_table::PartFacts& /*part*/) {}

 private:
  template <class Work>
  bool call(Work&& work);

  std::atomic<std::uint64_t> bytes_ = 0;  // read while it grows
  std::exception_ptr failed_;             // what put() or end_part() threw
};

// One file, or a stream.
class ColumnFile final : public ColumnTarget {
 public:
  // Opens `path`, "-" being standard output. `scratch_dirs`: as of io::OutputFile. `verify`: it
  // will be read back, which streams cannot be. Throws Error.
  ColumnFile(const std::string& path, const std::vector<std::string>& scratch_dirs, bool verify);

  void publish(io::ReadBack* read_back) override;
  bool in_place() const override { return file_ && file_->in_place(); }

 private:
  void put(std::span<const std::byte> data) override;

  std::string path_;
  std::optional<io::OutputFile> file_;
  io::File stream_;
};

// The format of `path`: a stream where it is written to a pipe or named .arrows, else a file.
module_table::Format ipc_format_of(const std::string& path);

}  // namespace xxl
