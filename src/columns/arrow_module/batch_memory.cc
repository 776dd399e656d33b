#include "columns/arrow_module/batch_memory.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace xxl::arrow_module {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kFileMagic = "ARROW1";
constexpr std::int64_t kFileStart = 8;  // the magic bytes, padded
constexpr std::int64_t kMostMetadataBytes = std::int64_t{64} << 20;
constexpr std::uint64_t kAlignment = 64;  // of buffers

// A table of FlatBuffers: its place, and that of its fields by their numbers. What lies outside of
// the bytes is not there.
class FlatTable {
 public:
  using Bytes = std::span<const std::uint8_t>;

  static FlatTable root(Bytes bytes) { return FlatTable(bytes, get<std::uint32_t>(bytes, 0)); }

  template <class T>
  T value(std::size_t field, T otherwise) const {
    const auto place = place_of(field);
    return place ? get<T>(bytes_, *place).value_or(otherwise) : otherwise;
  }
  FlatTable table(std::size_t field) const { return FlatTable(bytes_, followed(field)); }
  // Of a vector: where its values begin, and how many there are.
  struct Vector {
    std::size_t begin = 0, count = 0;
  };
  Vector vector(std::size_t field) const {
    const auto place = followed(field);
    const auto count = place ? get<std::uint32_t>(bytes_, *place) : std::nullopt;
    return count ? Vector{*place + sizeof(std::uint32_t), *count} : Vector{};
  }
  bool has(std::size_t field) const { return place_of(field).has_value(); }
  template <class T>
  std::optional<T> at(std::size_t place) const {
    return get<T>(bytes_, place);
  }

 private:
  FlatTable(Bytes bytes, std::optional<std::size_t> place) : bytes_(bytes), place_(place) {}

  template <class T>
  static std::optional<T> get(Bytes bytes, std::size_t place) {
    if (place > bytes.size() || bytes.size() - place < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + place, sizeof(T));
    return value;
  }
  std::optional<std::size_t> place_of(std::size_t field) const {
    if (!place_) return std::nullopt;
    const auto back = get<std::int32_t>(bytes_, *place_);
    if (!back) return std::nullopt;
    const std::int64_t offsets = static_cast<std::int64_t>(*place_) - *back;
    if (offsets < 0) return std::nullopt;
    const auto begin = static_cast<std::size_t>(offsets);
    const std::size_t entry = (field + 2) * sizeof(std::uint16_t);
    if (entry >= get<std::uint16_t>(bytes_, begin).value_or(0)) return std::nullopt;
    const std::uint16_t offset = get<std::uint16_t>(bytes_, begin + entry).value_or(0);
    return offset != 0 ? std::optional(*place_ + offset) : std::nullopt;
  }
  std::optional<std::size_t> followed(std::size_t field) const {
    const auto place = place_of(field);
    const auto offset = place ? get<std::uint32_t>(bytes_, *place) : std::nullopt;
    return offset ? std::optional(*place + *offset) : std::nullopt;
  }

  Bytes bytes_;
  std::optional<std::size_t> place_;
};

// Fields of the tables of Arrow's format (Message.fbs).
constexpr std::size_t kHeaderType = 1, kHeader = 2, kBodyLength = 3;  // of Message
constexpr std::uint8_t kDictionary = 2, kBatch = 3;                   // kinds of headers
constexpr std::size_t kBatchOfDictionary = 1;                         // of DictionaryBatch
constexpr std::size_t kBuffers = 2, kCompression = 3;                 // of RecordBatch
constexpr std::size_t kBufferBytes = 16;                              // a place and a length

class Messages {
 public:
  Messages(PosixFile& file, std::int64_t size, std::int64_t most_read)
      : file_(file), size_(size), most_read_(most_read) {}

  std::uint64_t largest() {
    char magic[kFileMagic.size()];
    const bool is_file =
        read(0, sizeof magic, magic) && std::string_view(magic, sizeof magic) == kFileMagic;
    at_ = is_file ? kFileStart : 0;
    std::uint64_t most = 0, dictionaries = 0;
    while (next()) {
      const FlatTable message = FlatTable::root(metadata_);
      const auto kind = message.value<std::uint8_t>(kHeaderType, 0);
      const auto body = std::max<std::int64_t>(message.value<std::int64_t>(kBodyLength, 0), 0);
      const FlatTable header = message.table(kHeader);
      if (kind == kBatch) most = std::max(most, memory_of(header, body));
      if (kind == kDictionary) dictionaries += memory_of(header.table(kBatchOfDictionary), body);
      if (body > size_ - at_) break;
      at_ += body;
    }
    return most + dictionaries;
  }

 private:
  bool read(std::int64_t place, std::int64_t bytes, void* out) {
    const auto done = file_.ReadAt(place, bytes, out);
    return done.ok() && *done == bytes;
  }

  // The metadata of the next message; then at_ is where its body begins.
  bool next() {
    std::int32_t length = 0;
    if (!read(at_, sizeof length, &length)) return false;
    at_ += sizeof length;
    if (length == -1) {  // in front of the length, but in old files
      if (!read(at_, sizeof length, &length)) return false;
      at_ += sizeof length;
    }
    if (length <= 0 || length > kMostMetadataBytes) return false;
    metadata_.resize(static_cast<std::size_t>(length));
    if (!read(at_, length, metadata_.data())) return false;
    at_ += length;
    return true;
  }

  // A compressed buffer begins with its length, or with -1 if it is stored as it is.
  std::uint64_t memory_of(const FlatTable& batch, std::int64_t body) {
    const std::uint64_t stored = body <= most_read_ ? static_cast<std::uint64_t>(body) : 0;
    if (!batch.has(kCompression)) return stored;
    std::uint64_t decoded = 0;
    const FlatTable::Vector buffers = batch.vector(kBuffers);
    for (std::size_t i = 0; i < buffers.count; ++i) {
      const std::size_t place = buffers.begin + i * kBufferBytes;
      const auto offset = batch.at<std::int64_t>(place);
      const auto length = batch.at<std::int64_t>(place + sizeof(std::int64_t));
      if (!offset || !length) break;
      std::int64_t bytes = 0;
      if (*offset < 0 || *length < static_cast<std::int64_t>(sizeof bytes)) continue;
      if (*offset > size_ - at_ || !read(at_ + *offset, sizeof bytes, &bytes)) break;
      if (bytes > 0) {
        decoded += (static_cast<std::uint64_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
      }
    }
    return stored + decoded;
  }

  PosixFile& file_;
  const std::int64_t size_, most_read_;
  std::int64_t at_ = 0;
  std::vector<std::uint8_t> metadata_;
};

}  // namespace

std::uint64_t largest_batch_memory(PosixFile& file, std::int64_t size, std::int64_t most_read) {
  return Messages(file, size, most_read).largest();
}

}  // namespace xxl::arrow_module
