#include "base/quote.h"

#include <algorithm>
#include <cwchar>
#include <cwctype>

namespace xxl {
namespace {

// Bytes of the printable character that `text` starts with, in the encoding of the locale; 0 if it
// is none.
std::size_t printable_bytes(std::string_view text) {
  std::mbstate_t state{};
  wchar_t character = 0;
  const std::size_t bytes = std::mbrtowc(&character, text.data(), text.size(), &state);
  if (bytes == 0 || bytes > text.size()) return 0;
  return std::iswprint(static_cast<wint_t>(character)) != 0 ? bytes : 0;
}

// Bytes of the character that `text` starts with, in the encoding of the locale or UTF-8; 0 if it
// is none, or a control character.
std::size_t shown_bytes(std::string_view text) {
  const std::size_t printable = printable_bytes(text);
  if (printable != 0) return printable;
  const std::size_t bytes = utf8_bytes(text);
  const bool is_control = text.starts_with('\xc2') && bytes == 2 && text.substr(1, 1) < "\xa0";
  return bytes == 1 || is_control ? 0 : bytes;
}

// "\n", "\377".
std::string escape(char c) {
  constexpr std::string_view kControls = "\a\b\t\n\v\f\r";
  constexpr std::string_view kLetters = "abtnvfr";
  const std::size_t place = kControls.find(c);
  if (place != std::string_view::npos) return std::string("\\") + kLetters[place];
  const auto byte = static_cast<unsigned char>(c);
  return {'\\', static_cast<char>('0' + byte / 64), static_cast<char>('0' + byte / 8 % 8),
          static_cast<char>('0' + byte % 8)};
}

bool is_special_to_shell(char c, std::size_t place, std::size_t size) {
  if (c == '#' || c == '~') return place == 0;
  if (c == '{' || c == '}') return size == 1;
  return std::string_view(" !\"$&'()*;<=>?[\\^`|").find(c) != std::string_view::npos;
}

// True if "text" in double quotes means text.
bool fits_double_quotes(std::string_view text) {
  return text.find_first_of("!\"$&()*;<=>?[\\^`|") == std::string_view::npos;
}

std::string quote_for_shell(std::string_view text, bool always) {
  // A colon would hide where the name ends in a message.
  bool special = always || text.empty() || text.find(':') != std::string_view::npos;
  bool printable = true;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = printable_bytes(text.substr(i));
    printable &= bytes != 0;
    special |= bytes == 0 || (bytes == 1 && is_special_to_shell(text[i], i, text.size()));
    i += bytes == 0 ? 1 : bytes;
  }
  if (!special) return std::string(text);
  if (printable && text.find('\'') != std::string_view::npos && fits_double_quotes(text)) {
    return '"' + std::string(text) + '"';
  }
  std::string out = "'";
  bool in_escapes = false;  // within $'...'
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = printable_bytes(text.substr(i));
    const bool escaped = bytes == 0;
    if (escaped != in_escapes) out.append(escaped ? "'$'" : "''");
    in_escapes = escaped;
    if (escaped) {
      out.append(escape(text[i]));
    } else {
      out.append(text[i] == '\'' ? std::string_view("'\\''") : text.substr(i, bytes));
    }
    i += escaped ? 1 : bytes;
  }
  return out + "'";
}

}  // namespace

std::size_t utf8_bytes(std::string_view text) {
  constexpr char32_t kFirst[] = {0, 0, 0x80, 0x800, 0x10000};  // by their bytes: shorter ones fit
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return 1;
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return 0;
  char32_t character = lead & (0x7f >> bytes);
  for (const char c : text.substr(1, bytes - 1)) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) != 0x80) return 0;
    character = character << 6 | (byte & 0x3f);
  }
  const bool is_surrogate = character >= 0xd800 && character < 0xe000;
  return character < kFirst[bytes] || character > 0x10ffff || is_surrogate ? 0 : bytes;
}

std::string quote_name(std::string_view name) {
  return quote_for_shell(name, false);
}

std::string quote_name_always(std::string_view name) {
  return quote_for_shell(name, true);
}

std::string quote_controls(std::string_view name) {
  return escape_controls(name) == name ? std::string(name) : quote_for_shell(name, true);
}

std::string escape_controls(std::string_view text, std::string_view kept) {
  std::string out;
  while (!text.empty()) {
    const std::size_t shown = shown_bytes(text);
    const std::size_t bytes = std::max<std::size_t>(shown, 1);
    if (shown > 0 || kept.find(text.front()) != std::string_view::npos) {
      out.append(text.substr(0, bytes));
    } else {
      out.append(escape(text.front()));
    }
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace xxl
