#include "columns/arrow_module/page_sizes.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace xxl::arrow_module {
namespace {

// Headers are short, except for bounds in them.
constexpr std::int64_t kHeaderBytes = 128;
constexpr std::int64_t kMostHeaderBytes = std::int64_t{1} << 20;

struct PageHeader {
  std::int64_t bytes = 0;  // of itself
  std::int64_t stored = -1, decoded = -1, values = 0;
  bool is_dictionary = false;
};

// Reads PageHeader of Parquet in the compact protocol of Thrift. After a failure, which the end of
// the bytes is as well, all that is read is nothing.
class HeaderReader {
 public:
  explicit HeaderReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::optional<PageHeader> read() {
    PageHeader header;
    fields([&](std::int64_t id, int type) {
      if (id == kDecodedId && type == kInt32) {
        header.decoded = number();
      } else if (id == kStoredId && type == kInt32) {
        header.stored = number();
      } else if ((id == kDataId || id == kDictionaryId || id == kDataV2Id) && type == kStruct) {
        header.is_dictionary = id == kDictionaryId;
        fields([&](std::int64_t inner, int inner_type) {
          if (inner == kValuesId && inner_type == kInt32) {
            header.values = number();
          } else {
            skip(inner_type, 0);
          }
        });
      } else {
        skip(type, 0);
      }
    });
    header.bytes = static_cast<std::int64_t>(at_);
    if (failed_ || header.stored < 0 || header.decoded < 0) return std::nullopt;
    return header;
  }

 private:
  static constexpr int kInt32 = 5, kStruct = 12;
  static constexpr std::int64_t kDecodedId = 2, kStoredId = 3;
  static constexpr std::int64_t kDataId = 5, kDictionaryId = 7, kDataV2Id = 8;
  static constexpr std::int64_t kValuesId = 1;
  static constexpr int kMostDepth = 16;

  std::uint8_t byte() {
    failed_ |= at_ == bytes_.size();
    return failed_ ? 0 : bytes_[at_++];
  }
  std::uint64_t unsigned_number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7F) << shift;
      if (next < 0x80) break;
    }
    return value;
  }
  std::int64_t number() {
    const std::uint64_t value = unsigned_number();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }

  // Calls visit(id, type) for each field of a structure.
  template <class Visit>
  void fields(Visit&& visit) {
    std::int64_t id = 0;
    for (;;) {
      const std::uint8_t start = byte();
      if (failed_ || start == 0) return;
      const int type = start & 0x0F;
      id = start >> 4 != 0 ? id + (start >> 4) : number();
      visit(id, type);
    }
  }

  void skip(int type, int depth) {
    if (depth > kMostDepth) failed_ = true;
    if (failed_) return;
    switch (type) {
      case 1:  // true
      case 2:  // false
        return;
      case 3:
        byte();
        return;
      case 4:
      case kInt32:
      case 6:
        number();
        return;
      case 7:
        skip_bytes(8);
        return;
      case 8:
        skip_bytes(unsigned_number());
        return;
      case kStruct:
        fields([&](std::int64_t, int inner) { skip(inner, depth + 1); });
        return;
      default:  // lists and maps, of which headers have none
        failed_ = true;
    }
  }
  void skip_bytes(std::uint64_t count) {
    failed_ |= count > bytes_.size() - at_;
    if (!failed_) at_ += count;
  }

  const std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

std::optional<PageHeader> header_at(PosixFile& file, std::int64_t offset, std::int64_t end) {
  std::vector<std::uint8_t> bytes;
  for (std::int64_t count = kHeaderBytes; count <= kMostHeaderBytes; count *= 8) {
    bytes.resize(static_cast<std::size_t>(std::min(count, end - offset)));
    const auto read = file.ReadAt(offset, static_cast<std::int64_t>(bytes.size()), bytes.data());
    if (!read.ok()) return std::nullopt;
    bytes.resize(static_cast<std::size_t>(*read));
    const auto header = HeaderReader(bytes).read();
    if (header || count > end - offset) return header;
  }
  return std::nullopt;
}

}  // namespace

PageSizes page_sizes(PosixFile& file, const ::parquet::ColumnChunkMetaData& column) {
  std::int64_t at = column.data_page_offset();
  if (column.has_dictionary_page() && column.dictionary_page_offset() > 0) {
    at = std::min(at, column.dictionary_page_offset());
  }
  const std::int64_t end = at + column.total_compressed_size();
  PageSizes sizes;
  while (at < end) {
    const auto header = header_at(file, at, end);
    if (!header) {
      const std::int64_t all = column.total_uncompressed_size();
      return {1, column.total_compressed_size(), all, column.has_dictionary_page() ? all : 0, all};
    }
    sizes.stored = std::max(sizes.stored, header->stored);
    sizes.value_bytes =
        std::max(sizes.value_bytes, value_bytes_of(header->decoded, header->values));
    if (header->is_dictionary) {
      sizes.dictionary = std::max(sizes.dictionary, header->decoded);
    } else {
      ++sizes.pages;
      sizes.decoded = std::max(sizes.decoded, header->decoded);
    }
    at += header->bytes + header->stored;
  }
  return sizes;
}

}  // namespace xxl::arrow_module
