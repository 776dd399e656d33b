#include "record/field_keys.h"

#include <algorithm>
#include <clocale>
#include <cstring>
#include <string>

#include "record/byte_string_key.h"
#include "record/collation_key.h"
#include "record/key_stretch.h"

namespace xxl {
namespace {

class FieldKeys final : public KeyExtractor {
 public:
  explicit FieldKeys(const FieldKeySpec& spec)
      : spec_(spec),
        classes_(current_byte_classes()),
        bytes_(spec.ignore_case || collation_.compares_bytes()) {
    most_ = *std::max_element(spec.fields.begin(), spec.fields.end());
  }

  bool is_costly_in_full() const override { return !bytes_; }

  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    append_key_part(record, 0, limit, key);
  }

  void append_key_part(std::string_view record, std::size_t from, std::size_t limit,
                       std::string& key) const override {
    thread_local std::vector<std::string_view> found;
    find_fields(record, found);
    KeyStretch stretch(key, from, limit);
    for (std::size_t i = 0; i < found.size() && stretch.wants_more(); ++i) {
      append_part(found[i], i + 1 < found.size(), stretch);
    }
  }

  std::unique_ptr<KeyReader> read_key(std::string_view record) const override {
    if (bytes_) return KeyExtractor::read_key(record);
    return std::make_unique<CollatedReader>(*this, record);
  }

 private:
  class CollatedReader final : public KeyReader {
   public:
    CollatedReader(const FieldKeys& keys, std::string_view record) : keys_(keys) {
      keys.find_fields(record, fields_);
      start_field();
    }

    bool read(std::size_t wanted, std::string& key) override {
      if (reader_.read(wanted, key)) return true;
      if (++field_ == fields_.size()) return false;
      start_field();
      return true;
    }

   private:
    void start_field() {
      reader_.start(keys_.collation_, fields_[field_], nullptr, field_ + 1 < fields_.size());
    }

    const FieldKeys& keys_;
    std::vector<std::string_view> fields_;
    std::size_t field_ = 0;
    CollationKeyReader reader_;
  };

  void find_fields(std::string_view record, std::vector<std::string_view>& found) const {
    found.assign(spec_.fields.size(), {});
    visit_line_fields(record, spec_.syntax, classes_.blank,
                      [&](std::size_t number, std::string_view field) {
                        for (std::size_t i = 0; i < found.size(); ++i) {
                          if (spec_.fields[i] == number) found[i] = field;
                        }
                        return number < most_;
                      });
  }

  void append_part(std::string_view field, bool delimited, KeyStretch& stretch) const {
    std::string& key = stretch.key();
    if (!bytes_) {
      collation_.append_key(field, nullptr, delimited, stretch);
      return;
    }
    do {
      const std::string_view piece = stretch.piece_of(field);
      field.remove_prefix(piece.size());
      const std::size_t from = key.size();
      key.append(piece);
      if (spec_.ignore_case) {
        for (std::size_t i = from; i < key.size(); ++i) {
          key[i] = static_cast<char>(classes_.upper[static_cast<unsigned char>(key[i])]);
        }
      }
      if (delimited) delimit_byte_string(key, from, field.empty());
    } while (stretch.take() && !field.empty());
  }

  FieldKeySpec spec_;
  ByteClasses classes_;
  Collation collation_;
  bool bytes_;
  std::size_t most_;
};

// strcoll of texts that may have bytes 0: part by part between these; a text with fewer parts comes
// first.
int collate(std::string_view a, std::string_view b) {
  thread_local std::string x, y;
  x.assign(a);
  y.assign(b);
  std::size_t i = 0, j = 0;
  for (;;) {
    const int order = std::strcoll(x.c_str() + i, y.c_str() + j);
    if (order != 0) return order;
    i += std::strlen(x.c_str() + i) + 1;
    j += std::strlen(y.c_str() + j) + 1;
    if (i > x.size()) return j > y.size() ? 0 : -1;
    if (j > y.size()) return 1;
  }
}

}  // namespace

std::shared_ptr<const KeyExtractor> make_field_keys(const FieldKeySpec& spec) {
  return std::make_shared<FieldKeys>(spec);
}

FieldComparison::FieldComparison(bool ignore_case)
    : ignore_case_(ignore_case), classes_(current_byte_classes()) {
  const std::string_view name = std::setlocale(LC_COLLATE, nullptr);
  collates_ = name != "C" && name != "POSIX";
}

int FieldComparison::compare(std::string_view a, std::string_view b) const {
  if (a.empty() || b.empty()) return static_cast<int>(!a.empty()) - static_cast<int>(!b.empty());
  const std::size_t common = std::min(a.size(), b.size());
  if (ignore_case_) {
    for (std::size_t i = 0; i < common; ++i) {
      const int x = classes_.upper[static_cast<unsigned char>(a[i])];
      const int y = classes_.upper[static_cast<unsigned char>(b[i])];
      if (x != y) return x - y;
    }
  } else if (collates_) {
    return a == b ? 0 : collate(a, b);
  } else if (const int order = std::memcmp(a.data(), b.data(), common)) {
    return order;
  }
  return static_cast<int>(a.size() > b.size()) - static_cast<int>(a.size() < b.size());
}

}  // namespace xxl
