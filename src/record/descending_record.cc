#include "record/descending_record.h"

#include <algorithm>

namespace xxl {

void DescendingRecord::append_key(std::string_view record, std::size_t limit,
                                  std::string& key) const {
  const std::size_t end = limit >= kWholeKey - key.size() ? kWholeKey : key.size() + limit;
  while (!record.empty()) {
    const std::size_t part = std::min(record.find('\0'), record.size());
    const std::size_t start = key.size();
    const std::size_t bytes = std::min(part, end - start);
    key.resize(start + bytes);
    for (std::size_t i = 0; i < bytes; ++i) key[start + i] = static_cast<char>(~record[i]);
    if (key.size() >= end) return;
    record.remove_prefix(part);
    if (record.empty()) break;
    key.append("\xff\xfe", 2);
    record.remove_prefix(1);
  }
  key.append("\xff\xff", 2);
}

}  // namespace xxl
