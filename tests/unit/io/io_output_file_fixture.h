// What tests of output files share.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/memory_region.h"
#include "base/units.h"
#include "io/output_file.h"
#include "io/transfer.h"
#include "tests/unit/io_test_support.h"

namespace xxl::io::test {

using Names = std::vector<std::string>;

inline void write_output(OutputFile& output, const std::string& text) {
  MemoryRegion block(round_up(text.size(), kSectorBytes));
  std::memcpy(block.data(), text.data(), text.size());
  io::write_at(output.file(), 0, block.span().first(round_up(text.size(), kSectorBytes)));
}

inline void publish(const std::string& path, const std::string& text) {
  OutputFile output(path, true, {std::filesystem::temp_directory_path().string()});
  write_output(output, text);
  output.publish(text.size());
}

inline mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

}  // namespace xxl::io::test
