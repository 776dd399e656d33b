#include "base/quote.h"

#include <gtest/gtest.h>

#include <string>

namespace xxl {
namespace {

TEST(EscapeControls, leaves_text_as_it_is) {
  for (const std::string text : {"", "a b'c\"d\\e~", "\u00e4\u4e2d\U0001F600", "\u00a0"}) {
    EXPECT_EQ(escape_controls(text), text);
  }
}

TEST(EscapeControls, escapes_what_a_terminal_may_obey) {
  EXPECT_EQ(escape_controls("a\033[31m\a\x7f"), "a\\033[31m\\a\\177");
  EXPECT_EQ(escape_controls(std::string("\0x", 2)), "\\000x");
  EXPECT_EQ(escape_controls("\u009b31m"), "\\302\\23331m");  // CSI, in one character
}

TEST(EscapeControls, escapes_bytes_that_are_no_character) {
  EXPECT_EQ(escape_controls("n\xe4me"), "n\\344me");
  EXPECT_EQ(escape_controls("\xc3"), "\\303");
  EXPECT_EQ(escape_controls("\xc0\xaf"), "\\300\\257");           // too long for '/'
  EXPECT_EQ(escape_controls("\xed\xa0\x80"), "\\355\\240\\200");  // half of a pair of UTF-16
  EXPECT_EQ(escape_controls("\xf4\x90\x80\x80"), "\\364\\220\\200\\200");  // beyond Unicode
  EXPECT_EQ(escape_controls("\xf0\x9f\x98"), "\\360\\237\\230");
}

TEST(EscapeControls, keeps_what_is_said) {
  EXPECT_EQ(escape_controls("a\n\tb\r"), "a\\n\\tb\\r");
  EXPECT_EQ(escape_controls("a\n\tb\r", "\n\t"), "a\n\tb\\r");
}

TEST(QuoteControls, quotes_only_where_something_is_to_be_escaped) {
  EXPECT_EQ(quote_controls("a b'c"), "a b'c");
  EXPECT_EQ(quote_controls("a\nb"), "'a'$'\\n''b'");
  EXPECT_EQ(quote_controls("n\xe4me"), "'n'$'\\344''me'");
}

}  // namespace
}  // namespace xxl
