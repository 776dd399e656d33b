#include "record/collation_key.h"

#include <langinfo.h>

#include <algorithm>
#include <clocale>
#include <new>
#include <random>

namespace xxl {
namespace {

// True if strxfrm leaves strings as they are: the locale has no rules.
bool has_no_rules(locale_t locale) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    std::string text(random() % 20, '\0');
    for (char& c : text) c = static_cast<char>(1 + random() % (trial % 2 ? 255 : 127));
    std::string key;
    append_strxfrm(text, locale, key);
    if (key != text) return false;
  }
  return true;
}

}  // namespace

Collation::Collation() : locale_(duplocale(LC_GLOBAL_LOCALE)) {
  if (locale_ == static_cast<locale_t>(nullptr)) throw std::bad_alloc();
  const std::string_view name = std::setlocale(LC_COLLATE, nullptr);
  named_ = name != "C" && name != "POSIX";
  compares_bytes_ = !named_ || has_no_rules(locale_);
  if (!compares_bytes_) {
    const bool utf8 = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
    tables_ = CollationTables::make(locale_, utf8);
  }
}

Collation::~Collation() {
  freelocale(locale_);
}

void Collation::append_transformed(std::string_view text, std::size_t limit,
                                   std::string& key) const {
  if (tables_ && tables_->append(text, limit, key)) return;
  append_strxfrm(text, locale_, key);
}

void Collation::append_key(std::string_view text, bool delimited, std::size_t limit,
                           std::string& key) const {
  const std::size_t from = key.size();
  while (true) {
    const std::size_t done = key.size() - from;
    const std::size_t end = std::min(text.find('\0'), text.size());
    append_transformed(text.substr(0, end), limit - done, key);
    if (key.size() - from >= limit) return;  // perhaps not all of it is there
    if (end == text.size()) break;
    key.push_back(0);
    if (delimited) key.push_back(1);
    text.remove_prefix(end + 1);
  }
  if (delimited) key.append(2, '\0');
}

}  // namespace xxl
