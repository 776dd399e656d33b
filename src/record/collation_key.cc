#include "record/collation_key.h"

#include <algorithm>
#include <clocale>
#include <cstring>
#include <new>
#include <random>

#include "base/error.h"

namespace xxl {
namespace {

constexpr char kLevelEnd = 1;
// Scratch that a thread keeps; what a larger record needs is given back.
constexpr std::size_t kMaxKeptBytes = std::size_t{1} << 16;

bool is_ascii(std::string_view text) {
  unsigned char all = 0;
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return all < 128;
}

// Strings for trials: of ASCII characters, or of any bytes but 0.
std::string random_text(std::mt19937& random, std::size_t max_length, bool ascii) {
  std::string text(random() % (max_length + 1), '\0');
  for (char& c : text) c = static_cast<char>(1 + random() % (ascii ? 127 : 255));
  return text;
}

}  // namespace

Collation::Collation() : locale_(duplocale(LC_GLOBAL_LOCALE)) {
  if (locale_ == static_cast<locale_t>(nullptr)) throw std::bad_alloc();
  const std::string_view name = std::setlocale(LC_COLLATE, nullptr);
  named_ = name != "C" && name != "POSIX";
  compares_bytes_ = true;
  if (!named_) return;
  // A locale without rules leaves strings as they are.
  std::mt19937 random(1);
  for (int trial = 0; trial < 200 && compares_bytes_; ++trial) {
    const std::string text = random_text(random, 20, trial % 2 == 0);
    compares_bytes_ = transformed(text) == text;
  }
  if (!compares_bytes_ && !(make_tables() && tables_agree())) levels_.clear();
}

Collation::~Collation() {
  freelocale(locale_);
}

void Collation::append_transformed(std::string_view text, std::size_t limit,
                                   std::string& key) const {
  if (levels_.empty() || !is_ascii(text)) {
    append_by_library(text, key);
  } else {
    append_by_tables(text, limit, key);
  }
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

<<<<<<< HEAD
=======
std::string Collation::transformed(std::string_view text) const {
  std::string out;
  append_by_library(text, out);
  return out;
}

void Collation::append_by_library(std::string_view text, std::string& key) const {
  thread_local std::string copy;  // strxfrm wants a terminator
  copy.assign(text);
  const std::size_t from = key.size();
  std::size_t room = 8 * text.size() + 16;
  while (true) {
    key.resize(from + room);
    const std::size_t length = strxfrm_l(key.data() + from, copy.c_str(), room, locale_);
    if (length < room) {
      key.resize(from + length);
      break;
    }
    room = length + 1;
  }
  if (copy.capacity() > kMaxKeptBytes) copy = std::string();
}

void Collation::append_by_tables(std::string_view text, std::size_t limit, std::string& key) const {
  if (text.empty()) return;
  const std::size_t from = key.size();
  for (const Level& level : levels_) {
    const std::size_t done = key.size() - from;
    if (done >= limit) return;
    if (&level != &levels_.front()) key.push_back(kLevelEnd);
    const std::size_t start = key.size();
    // Weights are stored whole, so the last one may be followed by what is then cut off.
    key.resize(start + level.longest * text.size() + sizeof(Weight));
    char* out = key.data() + start;
    for (const char c : text) {
      const Weight& weight = level.weights[static_cast<unsigned char>(c) & 127];
      std::memcpy(out, weight.bytes.data(), kMaxWeightBytes);
      out += weight.length;
    }
    key.resize(static_cast<std::size_t>(out - key.data()));
  }
}

bool Collation::make_tables() {
  // Only the last level may have bytes 1 in its weights: they say how many characters without
  // weight lie in between.
  constexpr std::size_t kLevels = 4;
  levels_.assign(kLevels, Level{});
  for (int c = 1; c < 128; ++c) {
    const std::string all = transformed(std::string(1, static_cast<char>(c)));
    std::string_view rest = all;
    for (std::size_t i = 0; i < kLevels; ++i) {
      std::size_t length = rest.size();
      if (i + 1 < kLevels) {
        length = rest.find(kLevelEnd);
        if (length == std::string_view::npos) return false;
      }
      if (length > kMaxWeightBytes) return false;
      Weight& weight = levels_[i].weights[static_cast<std::size_t>(c)];
      weight.length = static_cast<std::uint8_t>(length);
      rest.copy(weight.bytes.data(), length);
      levels_[i].longest = std::max(levels_[i].longest, length);
      rest.remove_prefix(std::min(length + 1, rest.size()));
    }
  }
  return true;
}

bool Collation::tables_agree() const {
  const auto agrees = [&](const std::string& text) {
    std::string key;
    append_by_tables(text, ~std::size_t{0}, key);
    return key == transformed(text);
  };
  for (int a = 1; a < 128; ++a) {
    for (int b = 1; b < 128; ++b) {
      if (!agrees({static_cast<char>(a), static_cast<char>(b)})) return false;
    }
  }
  constexpr int kTrials = 4000;
  std::mt19937 random(2);
  for (int trial = 0; trial < kTrials; ++trial) {
    if (!agrees(random_text(random, trial % 16 == 0 ? 300 : 24, true))) return false;
  }
  return true;
}

>>>>>>> h2
}  // namespace xxl
