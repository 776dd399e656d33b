#include "job/order_guess.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/memory_region.h"
#include "base/units.h"
#include "io/transfer.h"

namespace xxl {
namespace {

constexpr std::uint64_t kSamples = 32;
constexpr std::size_t kSampleBytes = 64 * kKiB;

// The whole lines of `text`; its first one is whole only if it `starts_whole`.
std::string_view whole_lines(std::string_view text, char terminator, bool starts_whole) {
  if (!starts_whole) {
    const std::size_t end = text.find(terminator);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return text.substr(0, text.rfind(terminator) + 1);  // none: empty
}

}  // namespace

std::optional<std::vector<io::File>> inputs_to_guess(const std::vector<std::string>& paths,
                                                     Recognize recognize) {
  std::vector<io::File> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (path != "-" && std::filesystem::is_directory(path, error)) return std::nullopt;  // of parts
    files.push_back(examine_input(path, recognize));
    if (!files.back().seekable()) return std::nullopt;
  }
  return files;
}

bool looks_sorted(const io::File& input, const RecordSyntax& syntax, const KeyExtractor& keys) {
  if (!input.seekable() || syntax.rows || syntax.record_bytes != 0) return false;
  const std::uint64_t bytes = input.size();
  const MemoryRegion memory(kSampleBytes);
  const std::span<std::byte> buffer = memory.span().first(kSampleBytes);
  std::string last, key;
  std::uint64_t behind = 0;  // the sample before
  bool any = false;          // last is a key
  const bool descending = keys.is_whole_record() && keys.is_descending();
  for (std::uint64_t sample = 0; sample < kSamples && behind < bytes; ++sample) {
    // The last one is at the end: files grow there.
    const std::uint64_t wanted = sample + 1 < kSamples
                                     ? bytes / kSamples * sample
                                     : bytes - std::min<std::uint64_t>(bytes, kSampleBytes / 2);
    const std::uint64_t offset = std::max(behind, round_down<std::uint64_t>(wanted, kSectorBytes));
    const std::size_t got = io::read_at(input, offset, buffer);
    std::string_view text = whole_lines({reinterpret_cast<const char*>(buffer.data()), got},
                                        syntax.terminator, offset == 0);
    if (offset == 0 && syntax.header) text.remove_prefix(text.find(syntax.terminator) + 1);
    while (!text.empty()) {
      const std::size_t end = text.find(syntax.terminator);
      key.clear();
      keys.append_key(text.substr(0, end), KeyExtractor::kWholeKey, key);
      if (any && (descending ? last < key : key < last)) return false;
      any = true;
      std::swap(key, last);
      text.remove_prefix(end + 1);
    }
    behind = offset + kSampleBytes;
  }
  return true;
}

}  // namespace xxl
