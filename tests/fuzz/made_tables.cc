#include "made_tables.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace xxl::fuzz {
namespace {

using test::Column;

constexpr int kMostDepth = 3;

// The types that have one width, with what their values are compared as.
struct Fixed {
  std::string_view format;
  std::size_t width;
};
constexpr Fixed kFixed[] = {{"c", 1},   {"C", 1},   {"s", 2},   {"S", 2},       {"i", 4},
                            {"I", 4},   {"l", 8},   {"L", 8},   {"e", 2},       {"f", 4},
                            {"g", 8},   {"w:0", 0}, {"w:3", 3}, {"d:38,3", 16}, {"d:70,2,256", 32},
                            {"tdD", 4}, {"ttu", 8}, {"tDn", 8}, {"tsm:UTC", 8}, {"tin", 16}};
constexpr unsigned kIndexTypes = 8;  // of them, those that are plain integers

Type make_type_at(Input& input, int depth, bool may_be_dictionary) {
  Type type;
  type.nullable = input.choose(2) == 1;
  const auto child = [&] { return make_type_at(input, depth + 1, may_be_dictionary); };
  constexpr std::string_view kTexts[] = {"u", "z", "U", "Z", "vu", "vz"};
  switch (const unsigned kind = input.choose(depth < kMostDepth ? 12 : 4); kind) {
    case 0:
      type.format = input.choose(8) == 0 ? "n" : "b";
      if (type.format == "n") type.nullable = true;
      break;
    case 1:
    case 2: {
      const Fixed& fixed = kFixed[input.choose(std::size(kFixed))];
      type.format = fixed.format;
      type.size = fixed.width;
      break;
    }
    case 4:
    case 5:
      type.format = kind == 4 ? "+l" : "+L";
      type.children = {child()};
      break;
    case 6:
      type.size = input.choose(4);
      type.format = "+w:" + std::to_string(type.size);
      type.children = {child()};
      break;
    case 7:
      type.format = "+s";
      for (unsigned children = input.choose(4); children > 0; --children) {
        type.children.push_back(child());
      }
      break;
    case 8:
      type.format = "+m";
      type.children = {{.format = "+s"}};
      type.children[0].children = {child(), child()};
      break;
    case 9:
    case 10:
      if (may_be_dictionary) {
        const Fixed& index = kFixed[input.choose(kIndexTypes)];
        type.format = index.format;
        type.size = index.width;
        type.dictionary = {make_type_at(input, depth + 1, false)};
        break;
      }
      [[fallthrough]];
    default:
      type.format = kTexts[input.choose(std::size(kTexts))];
  }
  return type;
}

std::string any_bytes(Input& input, std::size_t count) {
  std::string bytes;
  for (; count > 0; --count) bytes.push_back(static_cast<char>(input.choose(256)));
  return bytes;
}

class Maker {
 public:
  Maker(Input& input, const Type& type, std::size_t rows) : input_(input), type_(type) {
    offset_ = input.choose(4) == 0 ? input.choose(9) : 0;
    total_ = offset_ + rows;
    made_.column.format = type.format;
    made_.column.nullable = type.nullable;
    made_.column.length = static_cast<std::int64_t>(rows);
    made_.column.offset = static_cast<std::int64_t>(offset_);
    make_validity();
  }

  Made make() {
    if (type_.format == "n") {
      made_.column.buffers.clear();
      made_.cells.assign(total_, "-");
    } else if (!type_.dictionary.empty()) {
      make_dictionary();
    } else if (type_.format == "b") {
      make_booleans();
    } else if (type_.format == "u" || type_.format == "z") {
      make_texts<std::int32_t>();
    } else if (type_.format == "U" || type_.format == "Z") {
      make_texts<std::int64_t>();
    } else if (type_.format[0] == 'v') {
      make_views();
    } else if (type_.format == "+l" || type_.format == "+m") {
      make_lists<std::int32_t>();
    } else if (type_.format == "+L") {
      make_lists<std::int64_t>();
    } else if (type_.format == "+s") {
      make_structures();
    } else if (type_.format[0] == '+') {
      make_fixed_lists();
    } else {
      make_fixed();
    }
    for (std::size_t i = 0; i < total_; ++i) {
      if (!valid_[i]) made_.cells[i] = "-";
    }
    made_.cells.erase(made_.cells.begin(), made_.cells.begin() + static_cast<long>(offset_));
    return std::move(made_);
  }

 private:
  void make_validity() {
    valid_.assign(total_, true);
    made_.column.nulls = 0;
    made_.column.buffers = {std::nullopt};
    if (!type_.nullable || input_.choose(2) == 0) return;
    for (std::size_t i = 0; i < total_; ++i) valid_[i] = input_.choose(3) != 0;
    made_.column.nulls = -1;
    made_.column.buffers = {test::bits(valid_)};
  }
  void make_booleans() {
    std::vector<bool> values;
    for (std::size_t i = 0; i < total_; ++i) {
      values.push_back(input_.choose(2) == 1);
      made_.cells.push_back(values.back() ? "1" : "0");
    }
    made_.column.buffers.emplace_back(test::bits(values));
  }
  void make_fixed() {
    std::string& data = made_.column.buffers.emplace_back("").value();
    for (std::size_t i = 0; i < total_; ++i) {
      const std::string value = any_bytes(input_, type_.size);
      data += value;
      made_.cells.push_back(hexadecimal(value));
    }
  }
  template <class Offset>
  void make_texts() {
    std::string bytes = any_bytes(input_, input_.choose(3));
    std::vector<Offset> offsets{static_cast<Offset>(bytes.size())};
    for (std::size_t i = 0; i < total_; ++i) {
      const std::string value = any_bytes(input_, input_.choose(6));
      bytes += value;
      offsets.push_back(static_cast<Offset>(bytes.size()));
      made_.cells.push_back(hexadecimal(value));
    }
    made_.column.buffers.emplace_back(test::bytes_of_values(offsets));
    made_.column.buffers.emplace_back(bytes.empty() ? std::nullopt : std::optional(bytes));
  }
  void make_views() {
    std::array<std::string, 2> buffers;
    std::string views;
    for (std::size_t i = 0; i < total_; ++i) {
      const std::string value = any_bytes(input_, input_.choose(20));
      std::array<std::int32_t, 4> view{static_cast<std::int32_t>(value.size())};
      auto* const at = reinterpret_cast<char*>(view.data());
      if (value.size() <= 12) {
        std::memcpy(at + 4, value.data(), value.size());
      } else {
        view[2] = static_cast<std::int32_t>(input_.choose(2));
        std::string& buffer = buffers[static_cast<std::size_t>(view[2])];
        std::memcpy(at + 4, value.data(), 4);
        view[3] = static_cast<std::int32_t>(buffer.size());
        buffer += value;
      }
      views.append(at, sizeof(view));
      made_.cells.push_back(hexadecimal(value));
    }
    const std::vector<std::int64_t> sizes{static_cast<std::int64_t>(buffers[0].size()),
                                          static_cast<std::int64_t>(buffers[1].size())};
    made_.column.buffers.insert(made_.column.buffers.end(),
                                {views, buffers[0], buffers[1], test::bytes_of_values(sizes)});
  }
  template <class Offset>
  void make_lists() {
    std::size_t end = input_.choose(3);
    std::vector<Offset> offsets{static_cast<Offset>(end)};
    for (std::size_t i = 0; i < total_; ++i) {
      end += input_.choose(4);
      offsets.push_back(static_cast<Offset>(end));
    }
    const Made values = child(0, end + input_.choose(2));
    for (std::size_t i = 0; i < total_; ++i) {
      made_.cells.push_back(list_text(values, static_cast<std::size_t>(offsets[i]),
                                      static_cast<std::size_t>(offsets[i + 1])));
    }
    made_.column.buffers.emplace_back(test::bytes_of_values(offsets));
  }
  void make_fixed_lists() {
    const Made values = child(0, total_ * type_.size);
    for (std::size_t i = 0; i < total_; ++i) {
      made_.cells.push_back(list_text(values, i * type_.size, (i + 1) * type_.size));
    }
  }
  void make_structures() {
    made_.cells.assign(total_, "{");
    for (std::size_t i = 0; i < type_.children.size(); ++i) {
      const Made values = child(i, total_);
      for (std::size_t row = 0; row < total_; ++row) made_.cells[row] += values.cells[row] + ";";
    }
    for (std::string& cell : made_.cells) cell += "}";
  }
  void make_dictionary() {
    const Made values = Maker(input_, type_.dictionary[0], 1 + input_.choose(4)).make();
    std::string& data = made_.column.buffers.emplace_back("").value();
    for (std::size_t i = 0; i < total_; ++i) {
      // (Where there is a null, any index may be.)
      const std::uint64_t index =
          valid_[i] ? input_.choose(static_cast<unsigned>(values.cells.size())) : 0x77;
      data.append(reinterpret_cast<const char*>(&index), type_.size);
      made_.cells.push_back(valid_[i] ? values.cells[index] : "-");
    }
    made_.column.dictionary = {values.column};
  }

  Made child(std::size_t which, std::size_t rows) {
    Made values = Maker(input_, type_.children[which], rows).make();
    values.column.name = std::to_string(which);
    made_.column.children.push_back(values.column);
    return values;
  }
  static std::string list_text(const Made& values, std::size_t begin, std::size_t end) {
    std::string text = "[";
    for (; begin < end; ++begin) text += values.cells[begin] + ";";
    return text + "]";
  }

  Input& input_;
  const Type& type_;
  std::size_t offset_ = 0, total_ = 0;
  std::vector<bool> valid_;
  Made made_;
};

void all_columns(Column& column, std::vector<Column*>& all) {
  all.push_back(&column);
  for (Column& child : column.children) all_columns(child, all);
  for (Column& values : column.dictionary) all_columns(values, all);
}

std::size_t width_of(const std::string& format) {
  const auto* const found = std::ranges::find(kFixed, format, &Fixed::format);
  return found == std::end(kFixed) ? 0 : found->width;
}

// Overwrites a value of `width` bytes somewhere in `buffer`.
void overwrite(std::optional<std::string>& buffer, std::size_t place, std::size_t width,
               std::int64_t value) {
  if (!buffer || width == 0 || buffer->size() < width) return;
  place = place % (buffer->size() / width) * width;
  std::memcpy(buffer->data() + place, &value, width);
}

}  // namespace

std::string hexadecimal(std::string_view bytes) {
  std::string text = "x";
  for (const char c : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    text.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return text;
}

Type make_type(Input& input) {
  return make_type_at(input, 0, true);
}

Made make_array(Input& input, const Type& type, std::size_t rows) {
  return Maker(input, type, rows).make();
}

void damage(Column& table, Input& input) {
  std::vector<Column*> all;
  all_columns(table, all);
  Column& column =
      *all[input.choose(static_cast<unsigned>(std::min<std::size_t>(256, all.size())))];
  auto& buffers = column.buffers;
  const std::size_t place = input.choose(256);
  constexpr std::int64_t kWrong[] = {-1, std::numeric_limits<std::int64_t>::min(),
                                     std::int64_t{1} << 57,
                                     std::numeric_limits<std::int64_t>::max()};
  const std::int64_t wrong = kWrong[input.choose(std::size(kWrong))];
  const bool is_view = column.format[0] == 'v';  // whose last buffer says how many there are
  const bool is_dictionary = !column.dictionary.empty();
  switch (input.choose(9)) {
    case 0:
      column.length = wrong;
      break;
    case 1:
      if (column.length > 0) --column.length;
      break;
    case 2:
      column.offset = wrong;
      break;
    case 3:
      if (!buffers.empty() && !is_view) buffers.pop_back();
      break;
    case 4:
      if (!is_view) buffers.emplace_back("");
      break;
    case 5:
      if (!buffers.empty()) buffers[place % buffers.size()] = std::nullopt;
      break;
    case 6:
      if (place % 2 == 0 && !column.children.empty()) {
        column.children.pop_back();
      } else if (is_dictionary) {
        column.dictionary.clear();
      } else {
        column.children.push_back({.format = "n"});
      }
      break;
    case 7: {
      // An offset that does not rise; an index; a length, a buffer, or a place of a view.
      if (buffers.size() < 2) break;
      const std::int64_t small = static_cast<std::int64_t>(input.choose(256)) - 250;
      if (is_view) {
        overwrite(buffers[1], place, 4, place % 4 == 1 ? 0 : small < 0 ? wrong : 1000 + small);
      } else if (is_dictionary) {
        overwrite(buffers[1], place, width_of(column.format), wrong);
      } else if (column.format == "+L" || column.format == "U" || column.format == "Z") {
        overwrite(buffers[1], place, 8, std::min<std::int64_t>(small, 0));
      } else if (column.format == "+l" || column.format == "u" || column.format == "z") {
        overwrite(buffers[1], place, 4, std::min<std::int64_t>(small, 0));
      }
      break;
    }
    default:
      // A null where the type says that there is none.
      if (!buffers.empty() && column.format != "n") {
        const auto bits = static_cast<std::size_t>(column.length + column.offset);
        column.nulls = -1;
        buffers[0] = std::string((bits + 7) / 8, static_cast<char>(place));
      }
  }
}

}  // namespace xxl::fuzz
