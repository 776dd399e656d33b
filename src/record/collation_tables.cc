#include "record/collation_tables.h"

#include <langinfo.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <random>
#include <utility>

#include "base/error.h"

namespace xxl {
namespace {

constexpr std::uint32_t kTable = 0x80000000;  // a cell that is the number of a table
constexpr std::uint32_t kNone = 0x7fffffff;   // no element

static_assert(std::endian::native == std::endian::little);
constexpr int kLengthShift = 56;  // of the number of bytes in a weight
constexpr std::uint64_t kBackward = std::uint64_t{1} << 63;
constexpr std::size_t kMaxWeightBytes = 7;
constexpr std::size_t kLongWeight = 8;  // instead of the number of bytes
constexpr std::size_t kGapDigit = 250;  // the most elements that one byte of a gap stands for

constexpr char kLevelEnd = 1;
constexpr unsigned char kLeastWeightByte = 2;
// On levels where positions count, weights start with a byte below these.
constexpr char kGap = '\xfe';        // elements without weights precede
constexpr char kContinued = '\xff';  // between the parts of a weight, so that it follows its front

// Bits of the rules of a script on a level.
constexpr unsigned char kRuleBackward = 2;
constexpr unsigned char kRulePosition = 4;

unsigned char byte_of(char c) {
  return static_cast<unsigned char>(c);
}

[[noreturn]] void reject(locale_t locale, const char* why) {
  throw Error(ErrorCode::usage, std::string("cannot sort in the order of locale ") +
                                    nl_langinfo_l(_NL_LOCALE_NAME(LC_COLLATE), locale) + ": " +
                                    why + "; set LC_ALL=C to sort by bytes");
}

std::uint32_t number_of_levels(locale_t locale) {
  // A number in place of the pointer.
  return static_cast<std::uint32_t>(
      reinterpret_cast<std::uintptr_t>(nl_langinfo_l(_NL_COLLATE_NRULES, locale)));
}

}  // namespace

// Fills tables from those of the C library.
class CollationTables::Reader {
 public:
  Reader(CollationTables& tables, locale_t locale)
      : tables_(tables),
        locale_(locale),
        rules_(item<unsigned char>(_NL_COLLATE_RULESETS)),
        first_bytes_(item<std::int32_t>(_NL_COLLATE_TABLEMB)),
        weights_(item<unsigned char>(_NL_COLLATE_WEIGHTMB)),
        sequences_(item<unsigned char>(_NL_COLLATE_EXTRAMB)),
        ranges_(item<std::int32_t>(_NL_COLLATE_INDIRECTMB)) {}

  void read() {
    tables_.levels_.resize(number_of_levels(locale_));
    add_table(kNone);
    for (int c = 1; c < 256; ++c) {
      const std::string sequence(1, static_cast<char>(c));
      const std::int32_t index = first_bytes_[c];
      if (index >= 0) {
        insert(sequence, index);
      } else {
        read_list(sequence, sequences_ - index);
      }
    }
  }
  // Sequences of all kinds.
  const std::vector<std::string>& samples() const { return samples_; }

 private:
  template <class T>
  const T* item(nl_item number) const {
    return reinterpret_cast<const T*>(nl_langinfo_l(number, locale_));
  }

  void require(bool condition) const {
    if (!condition) reject(locale_, "its tables are of an unknown form");
  }

  // Sequences that start with byte `first`, the longest in front; the last is that byte alone. An
  // entry is an index of weights, a number of further bytes, these bytes; or, if the index is
  // negative, twice as many: the first and the last sequence of a range. Padded to 4 bytes.
  void read_list(const std::string& first, const unsigned char* at) {
    for (std::size_t size = 1, most = 256; size != 0; most = size) {
      std::int32_t index;
      std::memcpy(&index, at, sizeof index);
      size = at[sizeof index];
      const auto* const bytes = reinterpret_cast<const char*>(at + sizeof index + 1);
      require(size <= most);
      std::string sequence = first + std::string(bytes, size);
      if (index >= 0) {
        insert(sequence, index);
      } else {
        require(size != 0 && std::memcmp(bytes, bytes + size, size - 1) == 0);
        for (int c = byte_of(bytes[size - 1]); c <= byte_of(bytes[2 * size - 1]); ++c) {
          sequence.back() = static_cast<char>(c);
          insert(sequence, ranges_[c - byte_of(bytes[size - 1]) - index]);
        }
      }
      const std::size_t used = sizeof index + 1 + (index < 0 ? 2 * size : size);
      at += (used + 3) / 4 * 4;
    }
  }

  Cell add_table(Element element) {
    tables_.table_elements_.push_back(element);
    tables_.cells_.resize(tables_.cells_.size() + 256, kNone);
    return kTable | static_cast<Cell>(tables_.table_elements_.size() - 1);
  }

  // The first of several equal sequences counts.
  void insert(std::string_view sequence, std::int32_t index) {
    if (sequence.size() == 1 || ++inserted_ % 64 == 0) samples_.emplace_back(sequence);
    std::size_t table = 0;
    for (const char c : sequence.substr(0, sequence.size() - 1)) {
      const std::size_t place = 256 * table + byte_of(c);
      if ((tables_.cells_[place] & kTable) == 0) {
        const Cell cell = add_table(tables_.cells_[place]);
        tables_.cells_[place] = cell;
      }
      table = tables_.cells_[place] & ~kTable;
    }
    Cell& cell = tables_.cells_[256 * table + byte_of(sequence.back())];
    Element& element = cell & kTable ? tables_.table_elements_[cell & ~kTable] : cell;
    if (element == kNone) element = add_element(index);
  }

  // The highest byte of `index` is the script, the others are a place in the weights.
  Element add_element(std::int32_t index) {
    const unsigned char* const rules =
        rules_ + (static_cast<std::uint32_t>(index) >> 24) * tables_.levels_.size();
    const unsigned char* at = weights_ + (index & 0xffffff);
    const bool first = tables_.levels_.front().weights.empty();
    for (std::size_t l = 0; l < tables_.levels_.size(); ++l) {
      Level& level = tables_.levels_[l];
      const bool positions = (rules[l] & kRulePosition) != 0;
      // strcoll decides by the first element of one of the strings: all must be alike.
      require(first || level.positions == positions);
      level.positions = positions;
      const std::size_t size = *at++;
      const bool backward = (rules[l] & kRuleBackward) != 0;
      level.any_backward |= backward;
      std::string bytes(reinterpret_cast<const char*>(at), size);
      at += size;
      require(std::all_of(bytes.begin(), bytes.end(),
                          [](char c) { return byte_of(c) >= kLeastWeightByte; }));
      if (positions) mark_continuations(bytes);
      if (bytes.size() <= kMaxWeightBytes) {
        level.most_bytes = std::max(level.most_bytes, bytes.size());
      }
      level.weights.push_back(packed(bytes) | (backward ? kBackward : 0));
    }
    return static_cast<Element>(tables_.levels_.front().weights.size() - 1);
  }

  // A weight is numbers as UTF-8 would have them; one that continues another follows it, whatever
  // follows that.
  void mark_continuations(std::string& bytes) const {
    for (std::size_t i = 0; i < bytes.size();) {
      require(byte_of(bytes[i]) < byte_of(kGap));
      const auto ones = static_cast<std::size_t>(std::countl_one(byte_of(bytes[i])));
      i += std::max<std::size_t>(ones, 1);
      require(i <= bytes.size());
      if (i != bytes.size()) bytes.insert(i++, 1, kContinued);
    }
  }

  Weight packed(const std::string& bytes) {
    Weight weight = 0;
    if (bytes.size() <= kMaxWeightBytes) {
      std::memcpy(&weight, bytes.data(), bytes.size());
      return weight | Weight{bytes.size()} << kLengthShift;
    }
    tables_.long_weights_.push_back(bytes);
    return Weight{tables_.long_weights_.size() - 1} | Weight{kLongWeight} << kLengthShift;
  }

  CollationTables& tables_;
  locale_t locale_;
  const unsigned char* rules_;       // by script and level
  const std::int32_t* first_bytes_;  // indices of weights, or minus the place of a list
  const unsigned char* weights_;     // the number of bytes and the bytes, level after level
  const unsigned char* sequences_;   // lists
  const std::int32_t* ranges_;       // indices of weights
  std::vector<std::string> samples_;
  std::size_t inserted_ = 0;
};

bool CollationTables::are_missing(locale_t locale) {
  return number_of_levels(locale) == 0;
}

CollationTables::CollationTables(locale_t locale) {
  Reader reader(*this, locale);
  reader.read();
  check_against_strcoll(locale, reader.samples());
}

void CollationTables::check_against_strcoll(locale_t locale,
                                            const std::vector<std::string>& samples) const {
  std::mt19937 random(1);
  for (int trial = 0; trial < 500; ++trial) {
    // Of few different elements, so that strings often differ only beyond the first level.
    std::array<std::string_view, 5> some;
    for (std::string_view& element : some) {
      element = random() % 2 ? samples[random() % samples.size()]
                             : std::string_view(&" -.,0123456789aAbBcChHlLzZ"[random() % 25], 1);
    }
    std::array<std::string, 2> texts, keys;
    for (std::size_t i = 1 + random() % 6; i != 0; --i) {
      const std::string_view common = some[random() % some.size()];
      for (std::string& text : texts) text += random() % 3 ? common : some[random() % some.size()];
    }
    for (std::size_t i = 0; i < 2; ++i) append(texts[i], keys[i]);
    const int expected = strcoll_l(texts[0].c_str(), texts[1].c_str(), locale);
    const int found = keys[0].compare(keys[1]);
    if ((expected < 0) != (found < 0) || (expected > 0) != (found > 0)) {
      reject(locale, "keys from its tables disagree with strcoll");
    }
  }
}

template <bool kFiltered>
std::size_t CollationTables::find_elements(std::string_view text, const ByteFilter* filter,
                                           std::size_t& behind, std::span<Element> found) const {
  const Cell* const cells = cells_.data();
  std::size_t at = behind, count = 0;
  while (count != found.size() && at != text.size()) {
    unsigned char byte = byte_of(text[at++]);
    if constexpr (kFiltered) {
      if (filter->dropped[byte]) continue;
      byte = filter->mapped[byte];
    }
    Cell first = cells[byte];
    if ((first & kTable) == 0) {
      found[count++] = first;
      if constexpr (!kFiltered) {
        // Usually more of this kind follow.
        const std::size_t most = count + std::min(found.size() - count, text.size() - at);
        for (; count != most; ++at) {
          const Cell next = cells[byte_of(text[at])];
          if ((next & kTable) != 0) break;
          found[count++] = next;
        }
      }
      continue;
    }
    // The longest sequence.
    std::size_t table = first & ~kTable;
    Element element = table_elements_[table];
    for (std::size_t i = at; i != text.size();) {
      byte = byte_of(text[i++]);
      if constexpr (kFiltered) {
        if (filter->dropped[byte]) continue;
        byte = filter->mapped[byte];
      }
      const Cell cell = cells[256 * table + byte];
      table = cell & ~kTable;
      const Element longer = cell & kTable ? table_elements_[table] : cell;
      if (longer != kNone) {
        element = longer;
        at = i;
      }
      if ((cell & kTable) == 0) break;
    }
    found[count++] = element;
  }
  behind = at;
  return count;
}

// Appends weights of one level to a key.
template <bool kPositions>
class CollationTables::LevelWriter {
 public:
  // Of at most `elements`; `gap` elements without weights precede them.
  LevelWriter(const CollationTables& tables, const Level& level, std::size_t elements,
              std::size_t& gap, std::string& key)
      : weights_(level.weights.data()),
        long_weights_(tables.long_weights_),
        key_(key),
        kept_gap_(gap),
        gap_(gap) {
    const std::size_t size = key.size();
    key.resize(size + level.most_bytes * elements + gap_bytes(gap) + sizeof(Weight));
    out_ = key.data() + size;
  }
  ~LevelWriter() {
    key_.resize(static_cast<std::size_t>(out_ - key_.data()));
    kept_gap_ = gap_;
  }
  LevelWriter(const LevelWriter&) = delete;
  LevelWriter& operator=(const LevelWriter&) = delete;

  void put(Element element) { put_weight(weights_[element], size_of(weights_[element])); }

  // Those up to the first that is compared backward. Returns how many.
  std::size_t put_forward(std::span<const Element> elements) {
    std::size_t done = 0;
    for (; done != elements.size(); ++done) {
      const Weight weight = weights_[elements[done]];
      const std::size_t size = weight >> kLengthShift;
      if (size >= kLongWeight) [[unlikely]] {
        if ((weight & kBackward) != 0) break;
        put_weight(weight, size);
        continue;
      }
      put_weight(weight, size);
    }
    return done;
  }

  // From the last to the first.
  void put_reversed(std::span<const Element> elements) {
    for (std::size_t i = elements.size(); i != 0; --i) put(elements[i - 1]);
  }

  // How many are compared backward, up to the first that is not.
  std::size_t backward(std::span<const Element> elements) const {
    std::size_t count = 0;
    while (count != elements.size() && (weights_[elements[count]] & kBackward) != 0) ++count;
    return count;
  }

  // How many of these include all that have weights.
  std::size_t weighed(std::span<const Element> elements) const {
    std::size_t count = elements.size();
    while (count != 0 && size_of(weights_[elements[count - 1]]) == 0) --count;
    return count;
  }

 private:
  static std::size_t size_of(Weight weight) { return (weight & ~kBackward) >> kLengthShift; }
  static std::size_t gap_bytes(std::size_t gap) { return gap == 0 ? 0 : 2 + gap / kGapDigit; }
  // The larger gap comes last. Not longer than the room that its elements left.
  static char* put_gap(char* out, std::size_t gap) {
    *out++ = kGap;
    for (; gap > kGapDigit; gap -= kGapDigit) *out++ = '\xff';
    *out++ = static_cast<char>(gap);
    return out;
  }

  static char* put_long(std::string& key, char* out, const std::string& weight) {
    const auto at = static_cast<std::size_t>(out - key.data());
    key.resize(key.size() + weight.size());
    return std::copy(weight.begin(), weight.end(), key.data() + at);
  }

  void put_weight(Weight weight, std::size_t size) {
    if constexpr (kPositions) {
      if (size == 0) {
        ++gap_;
        return;
      }
      if (gap_ != 0) [[unlikely]]
        out_ = put_gap(out_, std::exchange(gap_, 0));
    }
    if (size == kLongWeight) [[unlikely]] {
      out_ = put_long(key_, out_, long_weights_[static_cast<std::uint32_t>(weight)]);
      return;
    }
    std::memcpy(out_, &weight, sizeof weight);
    out_ += size;
  }

  const Weight* weights_;
  const std::vector<std::string>& long_weights_;
  std::string& key_;
  char* out_;
  std::size_t& kept_gap_;
  std::size_t gap_;  // elements without weights since the last with one
};

void CollationTables::append(std::string_view text, std::string& key) const {
  KeyReader reader;
  reader.start(*this, text, nullptr);
  while (reader.read(~std::size_t{0}, key)) continue;
}

void CollationTables::KeyReader::start(const CollationTables& tables, std::string_view text,
                                       const ByteFilter* filter) {
  tables_ = &tables;
  text_ = text;
  filter_ = filter;
  begins_.clear();
  known_ = first_ = behind_ = 0;
  level_ = next_ = gap_ = searched_ = left_ = 0;
  behind_row_ = false;
}

std::span<const CollationTables::Element> CollationTables::KeyReader::find_elements(
    std::size_t i, std::size_t count) {
  if (i - first_ >= most_) {
    const std::size_t block = i / most_;
    first_ = block * most_;
    behind_ = block == 0 ? 0 : begins_[block - 1];
    known_ = 0;
  }
  const std::size_t at = i - first_;
  const std::size_t end = at + std::min(count, most_ - at);
  if (known_ < end && behind_ != text_.size()) {
    // At most one of each byte.
    const std::size_t missing = std::min(end - known_, text_.size() - behind_);
    if (elements_.size() < known_ + missing) elements_.resize(known_ + missing);
    const std::span<Element> room = std::span(elements_).subspan(known_, missing);
    known_ += filter_ ? tables_->find_elements<true>(text_, filter_, behind_, room)
                      : tables_->find_elements<false>(text_, filter_, behind_, room);
    if (known_ == most_ && begins_.size() * most_ == first_) begins_.push_back(behind_);
  }
  return known_elements(at, end - at);
}

// Elements in a row that are compared backward are taken from their end, as strcoll does: where
// an element of another kind follows, the last but one is passed over. And it counts the others
// from where it searched for this row, which is before the row if elements without weights precede
// it.
template <bool kPositions>
void CollationTables::append_level(const Level& level, std::span<const Element> elements,
                                   std::string& key) const {
  std::size_t gap = 0;
  LevelWriter<kPositions> writer(*this, level, elements.size(), gap, key);
  std::size_t searched = 0, i = 0;
  while (true) {
    const std::size_t forward = writer.put_forward(elements.subspan(i));
    i += forward;
    if (i == elements.size()) return;
    const std::size_t weighed = writer.weighed(elements.subspan(i - forward, forward));
    if (weighed != 0) searched = i - forward + weighed;
    const std::size_t row = writer.backward(elements.subspan(i));
    i += row;
    writer.put(elements[i - 1]);
    const bool at_end = i == elements.size();
    writer.put_reversed(
        elements.subspan(searched, row - (at_end ? 1 : std::min<std::size_t>(row, 2))));
    if (at_end) return;
    writer.put(elements[i]);
    searched = ++i;
  }
}

// The same, but it may end after any element, and go on.
template <bool kPositions>
bool CollationTables::KeyReader::append_part(const Level& level, std::size_t count,
                                             std::string& key) {
  count = left_ ? std::min(left_, most_) : elements_from(next_, count).size();
  LevelWriter<kPositions> writer(*tables_, level, count, gap_, key);
  while (count != 0) {
    if (left_ != 0) {
      const std::size_t end = searched_ + left_;
      const std::span<const Element> some = elements_before(end, std::min(left_, count));
      writer.put_reversed(some);
      left_ -= some.size();
      count -= some.size();
      continue;
    }
    const std::span<const Element> some = elements_from(next_, count);
    if (some.empty()) return false;
    if (behind_row_) {
      writer.put(some.front());
      searched_ = ++next_;
      behind_row_ = false;
      --count;
      continue;
    }
    // Usually nothing is compared backward.
    if (const std::size_t done = writer.put_forward(some); done != 0) {
      if (level.any_backward) {
        const std::size_t weighed = writer.weighed(some.first(done));
        if (weighed != 0) searched_ = next_ + weighed;
      }
      next_ += done;
      count -= done;
      continue;
    }
    std::size_t end = next_;
    bool at_end = false;
    for (std::size_t found = 1; found != 0; end += found) {
      const std::span<const Element> row = elements_from(end, most_);
      at_end = row.empty();
      found = writer.backward(row);
    }
    const std::size_t row = end - next_;
    writer.put(elements_before(end, 1).front());
    --count;
    left_ = row - (at_end ? 1 : std::min<std::size_t>(row, 2));
    next_ = end;
    behind_row_ = true;
  }
  return left_ != 0 || behind_ != text_.size() || next_ - first_ < known_;
}

bool CollationTables::KeyReader::read(std::size_t wanted, std::string& key) {
  // All levels of a short text at once.
  const std::size_t end = key.size() + std::min(wanted, kBlockElements);
  while (read_some(end - key.size(), key)) {
    if (key.size() >= end) return true;
  }
  return false;
}

bool CollationTables::KeyReader::read_some(std::size_t wanted, std::string& key) {
  const std::vector<Level>& levels = tables_->levels_;
  const Level& level = levels[level_];
  const std::size_t count = level_ == 0 ? std::max<std::size_t>(wanted, 8) : most_;
  if (next_ == 0 && text_.size() <= std::min(count, most_)) {  // mostly
    const std::span<const Element> all = elements_from(0, most_);
    level.positions ? tables_->append_level<true>(level, all, key)
                    : tables_->append_level<false>(level, all, key);
  } else if (level.positions ? append_part<true>(level, count, key)
                             : append_part<false>(level, count, key)) {
    return true;
  }
  if (first_ + known_ == 0) return false;  // an empty text
  ++level_;
  next_ = gap_ = searched_ = 0;
  behind_row_ = false;
  if (level_ < levels.size()) {
    key.push_back(kLevelEnd);
    return true;
  }
  if (levels.size() == 1) key.push_back(kLevelEnd);  // even if nothing in the text has a weight
  return false;
}

}  // namespace xxl
