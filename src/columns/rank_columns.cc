#include "columns/rank_columns.h"

#include <string_view>

#include "io/transfer.h"
#include "job/part_files.h"

namespace xxl {

void RankColumns::put(std::span<const std::byte> data) {
  io::write_at(directory_.file(), bytes_written(), data);
}

void RankColumns::end_part(const module_table::PartFacts& part) {
  part_.records = part.rows;
  part_.bytes = bytes_written();
  part_.first_key.assign(std::string_view(part.first_key).substr(0, kMostKeyBytes));
  part_.last_key.assign(std::string_view(part.last_key).substr(0, kMostKeyBytes));
  part_.checksum = part_checksum(directory_.file(), part_.bytes);
}

}  // namespace xxl
