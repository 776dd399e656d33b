// Files of columns in a directory of parts (docs/internals/parts.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "columns/files/column_target.h"
#include "job/part_files.h"
#include "job/part_manifest.h"

namespace xxl {

class ColumnParts final : public ColumnTarget {
 public:
  // `verify`: they will be read back. `record`: of the manifest. Throws Error.
  ColumnParts(const std::string& directory, bool verify, const std::string& record);

  void publish(io::ReadBack* read_back) override;

 private:
  void put(std::span<const std::byte> data) override;
  void end_part(const module_table::PartFacts& part) override;

  PartFiles files_;
  PartManifest manifest_;         // of the parts before
  std::uint64_t part_bytes_ = 0;  // of the present one
};

}  // namespace xxl
