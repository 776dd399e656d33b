#include "record/collation_key.h"

#include <algorithm>
#include <clocale>
#include <cstring>
#include <new>

namespace xxl {
namespace {

// Scratch that a thread keeps; the extra for a larger record is freed.
constexpr std::size_t kMaxKeptBytes = std::size_t{1} << 16;

}  // namespace

void append_strxfrm(std::string_view text, locale_t locale, std::string& key) {
  thread_local std::string copy;  // strxfrm needs a terminator
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

void Collation::append_key(std::string_view text, const ByteFilter* filter, bool delimited,
                           KeyStretch& stretch) const {
  thread_local CollationKeyReader reader;  // keeps its scratch
  reader.start(*this, text, filter, delimited);
  bool more;
  do {
    more = reader.read(stretch.left(), stretch.key());
  } while (stretch.take() && more);
}

void CollationKeyReader::start(const Collation& collation, std::string_view text,
                               const ByteFilter* filter, bool delimited) {
  tables_ = collation.tables_.get();
  text_ = text;
  filter_ = filter;
  delimited_ = delimited;
  start_stretch();
}

void CollationKeyReader::start_stretch() {
  const bool drops_zeros = filter_ != nullptr && filter_->dropped[0];
  end_ = drops_zeros ? text_.size() : std::min(text_.find('\0'), text_.size());
  reader_.start(*tables_, text_.substr(0, end_), filter_);
}

bool CollationKeyReader::read(std::size_t wanted, std::string& key) {
  if (reader_.read(wanted, key)) return true;
  if (end_ == text_.size()) {
    if (delimited_) key.append(2, '\0');
    return false;
  }
  key.push_back(0);
  if (delimited_) key.push_back(1);
  text_.remove_prefix(end_ + 1);
  start_stretch();
  return true;
}

}  // namespace xxl
