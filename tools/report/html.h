// Text within HTML.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/quote.h"

namespace xxl::cli {

// `text` as the content of an element or of an attribute in double quotes, whatever bytes it has:
// names of files may be anything.
inline std::string html(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_bytes(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (length == 0 || (first < 0x20 && first != '\n') || first == 0x7F) {
      out.append("\xEF\xBF\xBD");  // U+FFFD
    } else if (first == '&') {
      out.append("&amp;");
    } else if (first == '<') {
      out.append("&lt;");
    } else if (first == '>') {
      out.append("&gt;");
    } else if (first == '"') {
      out.append("&quot;");
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace xxl::cli
