// A key is the concatenation of its parts: one for each -k, then, unless -s or -u, the whole line.
// Each part but the last delimits itself, so that a part is compared only where those before it are
// equal. Option r inverts the bits of a part.
#include "record/line_keys.h"

#include <nettle/md5.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "record/byte_classes.h"
#include "record/byte_string_key.h"
#include "record/collation_key.h"
#include "record/key_reader.h"
#include "record/key_span.h"
#include "record/key_stretch.h"
#include "record/month_key.h"
#include "record/numeric_key.h"
#include "record/version_key.h"

namespace xxl {
namespace {

enum class KeyKind {
  bytes,
  collation,
  numeric,
  general_numeric,
  human_numeric,
  month,
  random,
  version,
};

// Of options that do not exclude each other but cannot work together, the first of these counts.
KeyKind kind_of(const LineKeyFlags& flags, bool compares_bytes) {
  if (flags.numeric) return KeyKind::numeric;
  if (flags.general_numeric) return KeyKind::general_numeric;
  if (flags.human_numeric) return KeyKind::human_numeric;
  if (flags.month) return KeyKind::month;
  if (flags.random) return KeyKind::random;
  if (flags.version) return KeyKind::version;
  return compares_bytes ? KeyKind::bytes : KeyKind::collation;
}

struct KeyPart {
  LineKeyField field;
  KeyKind kind = KeyKind::bytes;
  bool whole_line = false;
  bool delimited = false;  // its end is marked
  const ByteClasses::Set* dropped = nullptr;
  ByteFilter filter{};  // the same, and what f folds, for collation
};

constexpr ByteClasses::Set kNothing{};
constexpr std::array<unsigned char, 256> kSame = [] {
  std::array<unsigned char, 256> same{};
  for (std::size_t i = 0; i < same.size(); ++i) same[i] = static_cast<unsigned char>(i);
  return same;
}();

bool selects_whole_line(const LineKeyField& field) {
  return field.start_field == 0 && field.start_char == 0 &&
         field.end_field == LineKeyField::kLineEnd && !field.flags.skip_start_blanks;
}

class LineKeys final : public KeyExtractor {
 public:
  explicit LineKeys(const LineOrder& order)
      : classes_(current_byte_classes()), months_(classes_), separator_(order.separator) {
    md5_init(&salted_);
    md5_update(&salted_, order.random_salt.size(), order.random_salt.data());

    for (const LineKeyField& field : resolved_line_keys(order)) add_part(field);
    if (parts_.empty() || !(order.stable || order.unique || is_all_of_line(parts_.back()))) {
      LineKeyField last_resort;
      last_resort.flags.reverse = order.flags.reverse;
      add_part(last_resort);
    }
    whole_record_ = parts_.size() == 1 && is_all_of_line(parts_.front());
    // A part that nothing follows ends where the key ends, unless a longer one is to come first.
    for (KeyPart& part : parts_) {
      part.delimited = &part != &parts_.back() || part.field.flags.reverse;
    }
  }

  bool is_whole_record() const override { return whole_record_; }
  bool is_descending() const override {
    return whole_record_ && parts_.front().field.flags.reverse;
  }

  bool is_costly_in_full() const override {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const KeyPart& part) { return part.kind == KeyKind::collation; });
  }

  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    if (whole_record_) {
      key.append(record.substr(0, limit));
      return;
    }
    append_key_part(record, 0, limit, key);
  }

  void append_key_part(std::string_view record, std::size_t from, std::size_t limit,
                       std::string& key) const override {
    KeyStretch stretch(key, from, limit);
    for (const KeyPart& part : parts_) {
      if (!stretch.wants_more()) return;
      append_part(part, record, stretch);
    }
  }

  std::unique_ptr<KeyReader> read_key(std::string_view record) const override {
    if (!is_costly_in_full()) return KeyExtractor::read_key(record);
    return std::make_unique<Reader>(*this, record);
  }

 private:
  // Only collation is read without windows: other kinds make windows fast.
  class Reader final : public KeyReader {
   public:
    Reader(const LineKeys& keys, std::string_view line)
        : keys_(keys), line_(line), part_(keys.parts_.begin()) {
      start_part();
    }

    bool read(std::size_t wanted, std::string& key) override {
      if (read_part(wanted, key)) return true;
      if (++part_ == keys_.parts_.end()) return false;
      start_part();
      return true;
    }

   private:
    bool is_collated() const { return part_->kind == KeyKind::collation; }
    void start_part() {
      windows_ = {};
      if (!is_collated()) return;
      collated_.start(keys_.collation_, keys_.span_of(*part_, line_), filter_of(*part_),
                      part_->delimited);
    }
    bool read_part(std::size_t wanted, std::string& key) {
      if (!is_collated()) {
        return windows_.read(key, [&](std::size_t from, std::size_t limit, std::string& piece) {
          KeyStretch stretch(piece, from, limit);
          keys_.append_part(*part_, line_, stretch);
        });
      }
      const std::size_t from = key.size();
      const bool more = collated_.read(wanted, key);
      if (part_->field.flags.reverse) invert_bits(key, from);
      return more;
    }

    const LineKeys& keys_;
    std::string_view line_;
    std::vector<KeyPart>::const_iterator part_;
    KeyWindows windows_;           // of this part
    CollationKeyReader collated_;  // or, if it is collated, this
  };

  static const ByteFilter* filter_of(const KeyPart& part) {
    return part.dropped || part.field.flags.fold ? &part.filter : nullptr;
  }

  // True if lines with equal parts are the same bytes.
  static bool is_all_of_line(const KeyPart& part) {
    return part.whole_line && part.kind == KeyKind::bytes && !part.dropped &&
           !part.field.flags.fold;
  }

  void add_part(const LineKeyField& field) {
    KeyPart part;
    part.field = field;
    part.kind = kind_of(field.flags, collation_.compares_bytes());
    part.whole_line = selects_whole_line(field);
    if (field.flags.dictionary) {
      part.dropped = &classes_.not_dictionary;
    } else if (field.flags.printing) {
      part.dropped = &classes_.not_printing;
    }
    part.filter.dropped = part.dropped ? part.dropped->data() : kNothing.data();
    part.filter.mapped = field.flags.fold ? classes_.upper.data() : kSame.data();
    parts_.push_back(part);
  }

  std::string_view span_of(const KeyPart& part, std::string_view line) const {
    return part.whole_line ? line : key_span(line, part.field, separator_, classes_);
  }

  void append_part(const KeyPart& part, std::string_view line, KeyStretch& stretch) const {
    const std::string_view span = span_of(part, line);
    stretch.set_inverted(part.field.flags.reverse);
    if (part.kind == KeyKind::bytes) {
      append_bytes(part, span, stretch);
    } else if (part.kind == KeyKind::collation) {
      collation_.append_key(span, filter_of(part), part.delimited, stretch);
    } else if (part.dropped || part.field.flags.fold) {
      thread_local std::string filtered;
      filtered.clear();
      append_filtered(part, span, filtered);
      append_kind(part, filtered, stretch);
    } else {
      append_kind(part, span, stretch);
    }
  }

  void append_bytes(const KeyPart& part, std::string_view text, KeyStretch& stretch) const {
    std::string& key = stretch.key();
    do {
      const std::string_view piece = stretch.piece_of(text);
      text.remove_prefix(piece.size());
      const std::size_t from = key.size();
      append_filtered(part, piece, key);
      if (part.delimited) delimit_byte_string(key, from, text.empty());
    } while (stretch.take() && !text.empty());
  }

  // What options d, i and f make of `text`.
  void append_filtered(const KeyPart& part, std::string_view text, std::string& out) const {
    const std::size_t from = out.size();
    if (!part.dropped) {
      out.append(text);
    } else {
      out.resize(from + text.size());
      char* write = out.data() + from;
      const bool* const dropped = part.dropped->data();
      for (const char c : text) {
        *write = c;
        write += dropped[static_cast<unsigned char>(c)] ? 0 : 1;
      }
      out.resize(static_cast<std::size_t>(write - out.data()));
    }
    if (part.field.flags.fold) fold(out.data() + from, out.size() - from);
  }

  void fold(char* text, std::size_t size) const {
    if (classes_.plain_upper) {
      // Arithmetic instead of a table: vector instructions.
      for (std::size_t i = 0; i < size; ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        text[i] = static_cast<char>(c ^ (static_cast<unsigned char>(c - 'a') < 26 ? 0x20 : 0));
      }
      return;
    }
    for (std::size_t i = 0; i < size; ++i) {
      text[i] = static_cast<char>(classes_.upper[static_cast<unsigned char>(text[i])]);
    }
  }

  void append_kind(const KeyPart& part, std::string_view text, KeyStretch& stretch) const {
    std::string& key = stretch.key();
    switch (part.kind) {
      case KeyKind::bytes:
      case KeyKind::collation:
        break;
      case KeyKind::numeric:
        append_numeric_key(text, classes_, stretch);
        return;
      case KeyKind::general_numeric:
        append_general_numeric_key(text, classes_, collation_.locale(), key);
        break;
      case KeyKind::human_numeric:
        append_human_numeric_key(text, classes_, stretch);
        return;
      case KeyKind::month:
        key.push_back(static_cast<char>(months_.month_of(text, classes_)));
        break;
      case KeyKind::random:
        append_random(text, key);
        break;
      case KeyKind::version:
        append_version_key(text, stretch);
        return;
    }
    stretch.take();
  }

  // The hash of the salt and the text or, in a locale with a name, of what strxfrm makes of each
  // stretch between bytes 0, each with its terminator.
  void append_random(std::string_view text, std::string& key) const {
    md5_ctx hash = salted_;
    const auto update = [&](std::string_view bytes) {
      md5_update(&hash, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
    };
    if (!collation_.is_named()) {
      update(text);
    } else {
      thread_local std::string stretch;
      while (!text.empty()) {
        const std::size_t end = std::min(text.find('\0'), text.size());
        stretch.clear();
        if (collation_.compares_bytes()) {
          stretch.append(text.substr(0, end));
        } else {
          append_strxfrm(text.substr(0, end), collation_.locale(), stretch);
        }
        stretch.push_back('\0');
        update(stretch);
        text.remove_prefix(std::min(end + 1, text.size()));
      }
    }
    std::uint8_t digest[MD5_DIGEST_SIZE];
    md5_digest(&hash, sizeof digest, digest);
    key.append(reinterpret_cast<const char*>(digest), sizeof digest);
  }

  ByteClasses classes_;
  Collation collation_;
  MonthNames months_;
  std::optional<FieldSeparator> separator_;
  md5_ctx salted_{};
  std::vector<KeyPart> parts_;
  bool whole_record_ = false;
};

}  // namespace

std::shared_ptr<const KeyExtractor> make_line_keys(const LineOrder& order) {
  return std::make_shared<LineKeys>(order);
}

}  // namespace xxl
