#include "columns/arrow_module/compression.h"

#include <string>

#include "columns/arrow_module/failed.h"

namespace xxl::arrow_module {
namespace {

using ::arrow::Compression;

Compression::type codec_named(module_table::Format format, std::string_view word) {
  const bool parquet = format == module_table::Format::parquet;
  if (word == "none") return Compression::UNCOMPRESSED;
  if (word == "zstd") return Compression::ZSTD;
  // Of Parquet, what is called LZ4_RAW: blocks without frames.
  if (word == "lz4") return parquet ? Compression::LZ4 : Compression::LZ4_FRAME;
  if (parquet && word == "snappy") return Compression::SNAPPY;
  if (parquet && word == "gzip") return Compression::GZIP;
  throw Failed(ErrorCode::usage,
               "--compression=" + std::string(word) +
                   (parquet ? " is not known: zstd, snappy, lz4, gzip or none"
                            : ": files and streams of Arrow have zstd, lz4 or none"));
}

}  // namespace

Compression::type codec_of(module_table::Format format, std::string_view word, int level) {
  const Compression::type codec = codec_named(format, word);
  const std::string option = "--compression=" + std::string(word);
  if (!::arrow::util::Codec::IsAvailable(codec)) {
    throw Failed(ErrorCode::usage, option + ": this Apache Arrow was built without it");
  }
  if (level == 0) return codec;
  if (!::arrow::util::Codec::SupportsCompressionLevel(codec)) {
    throw Failed(ErrorCode::usage, option + " has no levels");
  }
  const int least = check(::arrow::util::Codec::MinimumCompressionLevel(codec), option);
  const int most = check(::arrow::util::Codec::MaximumCompressionLevel(codec), option);
  if (level < least || level > most) {
    throw Failed(ErrorCode::usage, option + ": its levels end at " + std::to_string(most));
  }
  return codec;
}

}  // namespace xxl::arrow_module
