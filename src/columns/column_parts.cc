#include "columns/column_parts.h"

#include "io/transfer.h"

namespace xxl {
namespace {

constexpr std::uint64_t kUnknown = ~std::uint64_t{0};  // how large a part becomes

}  // namespace

ColumnParts::ColumnParts(const std::string& directory, bool verify, const std::string& record)
    : files_(directory, verify, part_ending(record)) {
  manifest_.record = record;
}

void ColumnParts::put(std::span<const std::byte> data) {
  const std::uint64_t end = part_bytes_ + data.size();
  io::write_at(*files_.file(manifest_.parts.size(), end, false, kUnknown), part_bytes_, data);
  part_bytes_ = end;
}

void ColumnParts::end_part(const module_table::PartFacts& part) {
  PartManifest::Part& entry = manifest_.parts.emplace_back();
  entry.records = part.rows;
  entry.bytes = part_bytes_;
  entry.first_key = part.first_key;
  entry.last_key = part.last_key;
  part_bytes_ = 0;
}

void ColumnParts::publish(io::ReadBack* read_back) {
  files_.publish(std::move(manifest_), false, read_back);
}

}  // namespace xxl
