// Files of columns as one table: examined at once, read as a stream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "columns/files/module_table.h"

namespace xxl {

class ColumnSource {
 public:
  // Examines the files, which must have equal columns. Throws Error.
  ColumnSource(module_table::Format format, const std::vector<std::string>& paths,
               unsigned threads);
  ~ColumnSource();
  ColumnSource(const ColumnSource&) = delete;
  ColumnSource& operator=(const ColumnSource&) = delete;

  const std::vector<std::string>& column_names() const { return column_names_; }
  // Leaves out row groups that certainly have none of these rows. Throws Error.
  void leave_out(const module_table::FirstRows& first);
  // Leaves out all rows but those of a share of the others. Throws Error.
  void take_share(const module_table::Share& share);
  // All rows. The stream must be released before the source and before the next one; the rows of
  // pipes come once. Throws Error.
  void start(const module_table::BatchSizes& sizes, ArrowArrayStream* out);
  // Throws Error if the stream has failed: in more detail than whoever read it could.
  void rethrow();
  // ExaminedFiles::largest_batch of the module's table, after lacks_memory.
  std::uint64_t largest_batch();
  module_table::SourceFacts facts() const;

 private:
  void read_names();

  mutable module_table::ExaminedFiles source_{};
  std::vector<std::string> column_names_;
};

}  // namespace xxl
