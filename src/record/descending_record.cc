#include "record/descending_record.h"

#include <string>

#include "record/key_stretch.h"

namespace xxl {

void DescendingRecord::append_key(std::string_view record, std::size_t limit,
                                  std::string& key) const {
  append_key_part(record, 0, limit, key);
}

void DescendingRecord::append_key_part(std::string_view record, std::size_t from, std::size_t limit,
                                       std::string& key) const {
  KeyStretch stretch(key, from, limit);
  stretch.set_inverted(true);
  if (!stretch.wants_more()) return;
  while (!record.empty()) {
    std::string_view piece = stretch.piece_of(record);
    const std::size_t nul = piece.find('\0');
    piece = piece.substr(0, nul);
    key.append(piece);
    record.remove_prefix(piece.size());
    if (nul != piece.npos) {
      key.append("\x00\x01", 2);
      record.remove_prefix(1);
    }
    if (!stretch.take()) return;
  }
  key.append(2, '\0');
  stretch.take();
}

}  // namespace xxl
