#include "record/record_lengths.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/units.h"
#include "record/csv_rows.h"

namespace xxl {

void RecordLengths::add(std::string_view piece) {
  if (syntax_.counted) return add_counted(piece);
  if (syntax_.record_bytes == 0) return add_terminated(piece);
  if (!piece.empty()) add_record(syntax_.record_bytes);
}

void RecordLengths::end() {
  if (begun_ > 0) add_record(begun_);
  begun_ = left_ = count_ = count_bytes_ = 0;
  inside_quotes_ = false;
}

void RecordLengths::add_record(std::uint64_t bytes) {
  if (first_ == 0) first_ = bytes;
  for (std::uint64_t& longest : longest_) {
    if (bytes > longest) std::swap(bytes, longest);
  }
}

void RecordLengths::add_counted(std::string_view piece) {
  while (!piece.empty()) {
    if (left_ == 0) {
      count_ |= std::uint64_t{static_cast<unsigned char>(piece.front())} << (8 * count_bytes_++);
      piece.remove_prefix(1);
      if (count_bytes_ < sizeof(RecordCount)) continue;
      left_ = count_;
      add_record(count_);
      count_ = count_bytes_ = 0;
      continue;
    }
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(left_, piece.size()));
    left_ -= taken;
    piece.remove_prefix(taken);
  }
}

void RecordLengths::add_terminated(std::string_view piece) {
  constexpr std::size_t kWindow = 64 * kKiB;
  const bool has_quotes = syntax_.counts_quotes();
  while (!piece.empty()) {
    const std::string_view window = piece.substr(0, kWindow);
    ends_.clear();
    if (has_quotes) {
      inside_quotes_ = append_row_ends(window, inside_quotes_, syntax_.terminator, 0, ends_);
    } else {
      for (std::size_t at = 0; at < window.size(); ++at) {
        const void* const end =
            std::memchr(window.data() + at, syntax_.terminator, window.size() - at);
        if (end == nullptr) break;
        at = static_cast<std::size_t>(static_cast<const char*>(end) - window.data());
        ends_.push_back(at);
      }
    }
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      add_record(begun_ + (end - begin));
      begun_ = 0;
      begin = end + 1;
    }
    begun_ += window.size() - begin;
    piece.remove_prefix(window.size());
  }
}

}  // namespace xxl
