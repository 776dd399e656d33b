#include "record/collation_key.h"

#include <algorithm>
#include <clocale>
#include <cstring>
#include <new>

namespace xxl {
namespace {

// Scratch that a thread keeps; what a larger record needs is given back.
constexpr std::size_t kMaxKeptBytes = std::size_t{1} << 16;

}  // namespace

void append_strxfrm(std::string_view text, locale_t locale, std::string& key) {
  thread_local std::string copy;  // strxfrm wants a terminator
  copy.assign(text);
  const std::size_t from = key.size();
  std::size_t room = 8 * text.size() + 16;
  while (true) {
    key.resize(from + room);
    const std::size_t length = strxfrm_l(key.data() + from, copy.c_str(), room, locale);
    key.resize(from + std::min(length, room));
    if (length < room) break;
    room = length + 1;
  }
  if (copy.capacity() > kMaxKeptBytes) copy = std::string();
}

Collation::Collation() : locale_(duplocale(LC_GLOBAL_LOCALE)) {
  if (locale_ == static_cast<locale_t>(nullptr)) throw std::bad_alloc();
  const std::string_view name = std::setlocale(LC_COLLATE, nullptr);
  named_ = name != "C" && name != "POSIX";
  if (CollationTables::are_missing(locale_)) return;
  try {
    tables_ = std::make_unique<const CollationTables>(locale_);
  } catch (...) {
    freelocale(locale_);
    throw;
  }
}

Collation::~Collation() {
  freelocale(locale_);
}

void Collation::append_key(std::string_view text, bool delimited, std::size_t limit,
                           std::string& key) const {
  const std::size_t from = key.size();
  while (true) {
    const std::size_t done = key.size() - from;
    const std::size_t end = std::min(text.find('\0'), text.size());
    tables_->append(text.substr(0, end), limit - done, key);
    if (key.size() - from >= limit) return;  // perhaps not all of it is there
    if (end == text.size()) break;
    key.push_back(0);
    if (delimited) key.push_back(1);
    text.remove_prefix(end + 1);
  }
  if (delimited) key.append(2, '\0');
}

}  // namespace xxl
