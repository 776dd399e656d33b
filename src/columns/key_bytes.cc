#include "columns/key_bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "columns/value_bytes.h"

namespace xxl {
namespace {

template <std::size_t kWidth>
using Bits = std::conditional_t<
    kWidth == 1, std::uint8_t,
    std::conditional_t<kWidth == 2, std::uint16_t,
                       std::conditional_t<kWidth == 4, std::uint32_t, std::uint64_t>>>;

template <class Number>
constexpr Number kSignBit = static_cast<Number>(Number{1} << (8 * sizeof(Number) - 1));

template <class Number>
Number byte_swapped(Number number) {
  if constexpr (sizeof(Number) == 1) {
    return number;
  } else if constexpr (sizeof(Number) == 2) {
    return __builtin_bswap16(number);
  } else if constexpr (sizeof(Number) == 4) {
    return __builtin_bswap32(number);
  } else {
    return __builtin_bswap64(number);
  }
}

// Bits of a float with one form of NaN and of zero: those of a positive one. `kExponent` are all
// bits of the exponent.
template <class Number>
Number one_form(Number bits, Number exponent) {
  const auto magnitude = static_cast<Number>(bits & ~kSignBit<Number>);
  if (magnitude > exponent) {  // a quiet NaN: the bit below the exponent is set
    return static_cast<Number>(exponent | ((exponent & (0 - exponent)) >> 1));
  }
  return magnitude == 0 ? Number{0} : bits;
}

// All that numbers of a width and a kind have in common.
template <std::size_t kWidth, KeyKind kKind>
struct NumberKey {
  using Number = Bits<kWidth>;
  static constexpr std::size_t kBytes = kWidth;

  static Number ordered(Number bits) {
    if constexpr (kKind == KeyKind::signed_integer) {
      bits = static_cast<Number>(bits ^ kSignBit<Number>);
    } else if constexpr (kKind == KeyKind::floating) {
      bits = one_form(bits, kExponent);
      bits = static_cast<Number>((bits & kSignBit<Number>) != 0 ? ~bits : bits | kSignBit<Number>);
    }
    return bits;
  }
  static Number of_ordered(Number bits) {
    if constexpr (kKind == KeyKind::signed_integer) {
      bits = static_cast<Number>(bits ^ kSignBit<Number>);
    } else if constexpr (kKind == KeyKind::floating) {
      bits = static_cast<Number>((bits & kSignBit<Number>) != 0 ? bits ^ kSignBit<Number> : ~bits);
    }
    return bits;
  }

 private:
  static constexpr Number kExponent = static_cast<Number>(kWidth == 2   ? 0x7c00U
                                                          : kWidth == 4 ? 0x7f800000U
                                                                        : 0x7ff0000000000000U);
};

// Calls f(NumberKey) for the one of `key`, whose width is at most 8.
template <KeyKind kKind, class F>
void with_width(const KeyColumn& key, F&& f) {
  switch (key.width) {
    case 1:
      if constexpr (kKind != KeyKind::floating) f(NumberKey<1, kKind>());
      break;
    case 2:
      f(NumberKey<2, kKind>());
      break;
    case 4:
      f(NumberKey<4, kKind>());
      break;
    default:
      f(NumberKey<8, kKind>());
  }
}
template <class F>
void with_number_key(const KeyColumn& key, F&& f) {
  switch (key.kind) {
    case KeyKind::signed_integer:
      return with_width<KeyKind::signed_integer>(key, f);
    case KeyKind::floating:
      return with_width<KeyKind::floating>(key, f);
    default:
      return with_width<KeyKind::unsigned_integer>(key, f);
  }
}

// The bits of a number of a column, in the width of its key.
template <class Number>
Number number_of(const ColumnView& column, std::size_t row) {
  const ColumnType& type = *column.type;
  if (type.width == sizeof(Number)) return column.number<Number>(row);
  switch (type.key) {
    case KeyKind::floating:
      if constexpr (sizeof(Number) == 8) {
        return std::bit_cast<std::uint64_t>(static_cast<double>(column.number<float>(row)));
      }
      return 0;  // floats of 16 bits are joined with their like
    case KeyKind::signed_integer:
      switch (type.width) {
        case 1:
          return static_cast<Number>(column.number<std::int8_t>(row));
        case 2:
          return static_cast<Number>(column.number<std::int16_t>(row));
        default:
          return static_cast<Number>(column.number<std::int32_t>(row));
      }
    default:
      switch (type.width) {
        case 1:
          return static_cast<Number>(column.number<std::uint8_t>(row));
        case 2:
          return static_cast<Number>(column.number<std::uint16_t>(row));
        default:
          return static_cast<Number>(column.number<std::uint32_t>(row));
      }
  }
}

bool is_text(const KeyColumn& key) {
  return key.width == 0 && (key.kind == KeyKind::text || key.kind == KeyKind::bytes);
}
bool is_number_of_8(const KeyColumn& key) {
  return key.width <= 8 && (key.kind == KeyKind::signed_integer ||
                            key.kind == KeyKind::unsigned_integer || key.kind == KeyKind::floating);
}

// Calls f(i, column, row) with where the value of row first + i is, if it has one, none(i) if not.
template <class F, class None>
void for_keys(const ColumnView& column, std::size_t first, std::size_t count, F&& f, None&& none) {
  if (column.type->layout == Layout::dictionary) {
    const ColumnView& values = column.values.front();
    for (std::size_t i = 0; i < count; ++i) {
      if (has_value(column, first + i)) {
        f(i, values, column.index(first + i));
      } else {
        none(i);
      }
    }
  } else if (column.validity == nullptr && column.type->layout != Layout::null) {
    for (std::size_t i = 0; i < count; ++i) f(i, column, first + i);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      if (column.is_valid(first + i)) {
        f(i, column, first + i);
      } else {
        none(i);
      }
    }
  }
}

std::size_t escaped_bytes(std::string_view text) {
  std::size_t bytes = text.size() + 2;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end && (at = static_cast<const char*>(
                          std::memchr(at, 0, static_cast<std::size_t>(end - at)))) != nullptr) {
    ++bytes;
    ++at;
  }
  return bytes;
}

void invert(std::byte* begin, const std::byte* end) {
  for (; begin != end; ++begin) *begin = ~*begin;
}

std::byte* write_escaped(std::string_view text, std::byte* to) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const auto* zero =
        static_cast<const char*>(std::memchr(at, 0, static_cast<std::size_t>(end - at)));
    const std::size_t plain = static_cast<std::size_t>((zero == nullptr ? end : zero) - at);
    std::memcpy(to, at, plain);
    to += plain;
    at += plain;
    if (zero == nullptr) break;
    *to++ = std::byte{0};
    *to++ = std::byte{255};
    ++at;
  }
  *to++ = std::byte{0};
  *to++ = std::byte{0};
  return to;
}

// One key from `from` on; its text to `text`, if that is not null. Returns where it ends.
const std::byte* read_escaped(const std::byte* from, const std::byte* end, bool descending,
                              std::byte* text, std::size_t& bytes) {
  const int zero = descending ? 255 : 0;
  bytes = 0;
  for (;;) {
    const auto* at = static_cast<const std::byte*>(
        std::memchr(from, zero, static_cast<std::size_t>(end - from)));
    XXL_CHECK(at != nullptr && end - at >= 2);
    const auto plain = static_cast<std::size_t>(at - from);
    if (text != nullptr && plain > 0) std::memcpy(text + bytes, from, plain);
    bytes += plain;
    from = at + 2;
    if (static_cast<int>(at[1]) == zero) break;
    if (text != nullptr) text[bytes] = at[0];
    ++bytes;
  }
  if (descending && text != nullptr) invert(text, text + bytes);
  return from;
}

// Wide numbers and fixed-size binary.
void write_wide(const KeyColumn& key, const std::byte* from, std::byte* to) {
  if (key.kind == KeyKind::bytes) {
    std::memcpy(to, from, key.width);
  } else {
    std::reverse_copy(from, from + key.width, to);
    to[0] ^= std::byte{0x80};
  }
}
void read_wide(const KeyColumn& key, const std::byte* from, std::byte* to) {
  std::memcpy(to, from, key.width);
  if (key.descending) invert(to, to + key.width);
  if (key.kind == KeyKind::bytes) return;
  to[0] ^= std::byte{0x80};
  std::reverse(to, to + key.width);
}

std::size_t fixed_key_bytes(const KeyColumn& key) {
  if (key.kind == KeyKind::null) return 0;
  return key.kind == KeyKind::boolean ? 1 : key.width;
}

}  // namespace

KeyColumn key_column(std::size_t column, const ColumnType& type) {
  if (type.key == KeyKind::none) {
    throw Error(ErrorCode::usage, "column " + type.name + ": values of the type " +
                                      type_name(type) + " have no order");
  }
  KeyColumn key;
  key.column = column;
  key.kind = type.key;
  key.marks_null = may_be_null(type);
  const ColumnType& values = type.value_type();
  if (values.layout == Layout::fixed) key.width = values.width;
  if (key.kind == KeyKind::place) key.width = sizeof(std::uint32_t);
  return key;
}

void add_key_bytes(const KeyColumn& key, const ColumnView& column, std::size_t first,
                   std::span<std::size_t> bytes) {
  if (key.marks_null) {
    for (std::size_t& each : bytes) ++each;
  }
  const auto none = [](std::size_t) {};
  if (is_text(key)) {
    for_keys(
        column, first, bytes.size(),
        [&](std::size_t i, const ColumnView& values, std::size_t row) {
          bytes[i] += escaped_bytes(values.text(row));
        },
        none);
  } else {
    const std::size_t fixed = fixed_key_bytes(key);
    for_keys(
        column, first, bytes.size(),
        [&](std::size_t i, const ColumnView&, std::size_t) { bytes[i] += fixed; }, none);
  }
}

void write_keys(const KeyColumn& key, const ColumnView& column, std::size_t first,
                std::span<std::byte*> to, std::span<const std::uint32_t> places) {
  // Writes keys by write_one(column, row, where), which returns where it ends.
  const auto write_values = [&](auto&& write_one) {
    const bool marks = key.marks_null;
    const auto there = static_cast<std::byte>(key.nulls_first);
    for_keys(
        column, first, to.size(),
        [&](std::size_t i, const ColumnView& values, std::size_t row) {
          if (marks) *to[i]++ = there;
          to[i] = write_one(values, row, to[i]);
        },
        [&](std::size_t i) {
          if (!marks) throw_unexpected_null(column);
          *to[i]++ = ~there & std::byte{1};
        });
  };
  if (is_number_of_8(key)) {
    with_number_key(key, [&](auto of_number) {
      using Key = decltype(of_number);
      using Number = typename Key::Number;
      const auto inverted = static_cast<Number>(key.descending ? ~Number{0} : Number{0});
      write_values([inverted](const ColumnView& values, std::size_t row, std::byte* at) {
        const Number bits = byte_swapped(
            static_cast<Number>(Key::ordered(number_of<Number>(values, row)) ^ inverted));
        std::memcpy(at, &bits, sizeof(bits));
        return at + sizeof(bits);
      });
    });
  } else if (is_text(key)) {
    write_values([&key](const ColumnView& values, std::size_t row, std::byte* at) {
      std::byte* const end = write_escaped(values.text(row), at);
      if (key.descending) invert(at, end);
      return end;
    });
  } else if (key.kind == KeyKind::boolean) {
    write_values([&key](const ColumnView& values, std::size_t row, std::byte* at) {
      *at = static_cast<std::byte>(values.bit(row));
      if (key.descending) *at = ~*at;
      return at + 1;
    });
  } else if (key.kind == KeyKind::place) {
    write_values([&](const ColumnView&, std::size_t index, std::byte* at) {
      const std::uint32_t place = byte_swapped(key.descending ? ~places[index] : places[index]);
      std::memcpy(at, &place, sizeof(place));
      return at + sizeof(place);
    });
  } else {
    write_values([&key](const ColumnView& values, std::size_t row, std::byte* at) {
      write_wide(key, values.fixed(row), at);
      if (key.descending) invert(at, at + key.width);
      return at + key.width;
    });
  }
}

void read_keys(const KeyColumn& key, std::span<const std::byte*> from,
               std::span<const std::byte* const> ends, ColumnBuilder* builder) {
  // Reads each key that is not null by read_one(i).
  const auto read_values = [&](auto&& read_one) {
    const auto there = static_cast<std::byte>(key.nulls_first);
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (key.marks_null && *from[i]++ != there) {
        if (builder != nullptr) builder->append_null();
      } else {
        read_one(i);
      }
    }
  };
  if (is_text(key)) {
    read_values([&](std::size_t i) {
      std::size_t bytes;
      std::byte* const text =
          builder == nullptr ? nullptr
                             : builder->begin_text(static_cast<std::size_t>(ends[i] - from[i]));
      from[i] = read_escaped(from[i], ends[i], key.descending, text, bytes);
      if (builder != nullptr) builder->end_text(bytes);
    });
  } else if (builder == nullptr) {
    read_values([&](std::size_t i) { from[i] += fixed_key_bytes(key); });
  } else if (is_number_of_8(key)) {
    with_number_key(key, [&](auto of_number) {
      using Key = decltype(of_number);
      using Number = typename Key::Number;
      const auto inverted = static_cast<Number>(key.descending ? ~Number{0} : Number{0});
      read_values([&](std::size_t i) {
        Number bits;
        std::memcpy(&bits, from[i], sizeof(bits));
        bits = Key::of_ordered(static_cast<Number>(byte_swapped(bits) ^ inverted));
        std::memcpy(builder->append_fixed(), &bits, sizeof(bits));
        from[i] += sizeof(bits);
      });
    });
  } else if (key.kind == KeyKind::boolean) {
    read_values([&](std::size_t i) {
      const std::byte value = *from[i]++;
      builder->append_boolean((key.descending ? ~value : value) != std::byte{0});
    });
  } else if (key.kind == KeyKind::null) {
    read_values([](std::size_t) {});
  } else {
    read_values([&](std::size_t i) {
      read_wide(key, from[i], builder->append_fixed());
      from[i] += key.width;
    });
  }
}

}  // namespace xxl
