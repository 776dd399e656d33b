// Counts and sums up the rows of an inner join, in any order, to be compared with what
// join_workload says. Prints one line of JSON.
//
//   join_check kv32|kv64 FILE
//
// A row is the key, R's value and S's, each of 4 or 8 bytes.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "bench/join_rows.h"

int main(int argc, char** argv) {
  const std::string_view record = argc == 3 ? argv[1] : "";
  if (record != "kv32" && record != "kv64") {
    std::fprintf(stderr, "usage: join_check kv32|kv64 FILE\n");
    return 2;
  }
  const std::size_t bytes = record == "kv32" ? 4 : 8;
  std::FILE* file = std::fopen(argv[2], "rb");
  if (file == nullptr) {
    std::perror(argv[2]);
    return 2;
  }
  std::vector<unsigned char> buffer(3 * bytes << 16);
  xxl::bench::RowSum rows;
  std::size_t cut = 0;
  for (std::size_t got; (got = std::fread(buffer.data(), 1, buffer.size(), file)) > 0;) {
    for (std::size_t at = 0; at + 3 * bytes <= got; at += 3 * bytes) {
      xxl::bench::JoinRow row{};
      std::memcpy(&row.key, &buffer[at], bytes);
      std::memcpy(&row.r_value, &buffer[at + bytes], bytes);
      std::memcpy(&row.s_value, &buffer[at + 2 * bytes], bytes);
      rows.add(row);
    }
    cut += got % (3 * bytes);
  }
  if (std::ferror(file) != 0 || cut != 0) {
    std::fprintf(stderr, "join_check: %s cannot be read, or is no whole number of rows\n", argv[2]);
    return 2;
  }
  std::fclose(file);
  std::printf("{\"rows\": %ju, \"sum\": \"%016jx\"}\n", std::uintmax_t{rows.rows},
              std::uintmax_t{rows.sum});
  return EXIT_SUCCESS;
}
