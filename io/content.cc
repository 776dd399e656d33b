#include "io/content.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace xxl::io {
namespace {

using std::string_view_literals::operator""sv;

struct Magic {
  std::string_view bytes;
  Codec codec;
  const char* refusal;  // of what is not decompressed
};

constexpr const char* kParquet =
    "is a Parquet file, not text: use --record=parquet, with a --key (Python: xxl.sort_parquet)";
constexpr const char* kArrow =
    "is an Arrow file, not text: use --record=arrow, with a --key (Python: xxl.sort)";
constexpr const char* kTar =
    "is a tar archive, not text: unpack it first, or pipe a file of it, as with tar -xO";

// A digit for the size of blocks stands between the two parts of bzip2's.
constexpr std::string_view kBzip2Name = "BZh"sv;
constexpr std::string_view kBzip2Block = "\x31\x41\x59\x26\x53\x59"sv;
constexpr std::string_view kBzip2End = "\x17\x72\x45\x38\x50\x90"sv;

constexpr Magic kMagics[] = {
    {"\x1f\x8b\x08"sv, Codec::gzip, nullptr},
    {"\x28\xb5\x2f\xfd"sv, Codec::zstd, nullptr},
    {"\x04\x22\x4d\x18"sv, Codec::lz4, nullptr},
    {"\xfd\x37zXZ\x00"sv, Codec::xz, nullptr},
    {"PAR1\x15"sv, Codec::none, kParquet},  // the header of the first page follows
    {"ARROW1\x00\x00"sv, Codec::none, kArrow},
    {"PK\x03\x04"sv, Codec::none, "is a zip archive, not text: pipe it through unzip -p"},
    {"7z\xbc\xaf\x27\x1c"sv, Codec::none, "is a 7z archive, not text: unpack it first"},
    {"!<arch>\n"sv, Codec::none, "is an ar archive, not text: unpack it first"},
};

// The first message of an Arrow stream: a mark, its length in whole words, and where its root is.
bool is_arrow_stream(std::string_view head) {
  constexpr std::uint32_t kMostSchemaBytes = std::uint32_t{1} << 28;
  constexpr std::uint32_t kMostRootOffset = 64;
  std::uint32_t words[3];
  if (head.size() < sizeof(words)) return false;
  std::memcpy(words, head.data(), sizeof(words));
  const auto [mark, length, root] = words;
  return mark == ~std::uint32_t{0} && length > 0 && length % 8 == 0 && length < kMostSchemaBytes &&
         root > 0 && root <= kMostRootOffset;
}

// The header of a file in a tar archive: its name is filled up with zeros, and a mark stands
// behind.
bool is_tar(std::string_view head) {
  constexpr std::size_t kNameBytes = 100, kMark = 257;
  return head.size() >= kContentBytes && head.substr(0, kNameBytes).find('\0') != head.npos &&
         head.substr(kMark).starts_with("ustar"sv);
}

bool is_bzip2(std::string_view head) {
  if (!head.starts_with(kBzip2Name) || head.size() < kBzip2Name.size() + 1) return false;
  const std::string_view rest = head.substr(kBzip2Name.size() + 1);
  return rest.starts_with(kBzip2Block) || rest.starts_with(kBzip2End);
}

}  // namespace

Codec recognize_content(std::span<const std::byte> head, const std::string& path) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (is_bzip2(text)) return Codec::bzip2;
  const char* refusal = is_arrow_stream(text) ? kArrow : is_tar(text) ? kTar : nullptr;
  for (const Magic& magic : kMagics) {
    if (!text.starts_with(magic.bytes)) continue;
    if (magic.refusal == nullptr) return magic.codec;
    refusal = magic.refusal;
  }
  if (refusal != nullptr) throw Error(ErrorCode::bad_input, refusal, path);
  return Codec::none;
}

}  // namespace xxl::io
