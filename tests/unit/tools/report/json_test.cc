// JSON of reports: valid whatever numbers and names are in it.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "line_order_test_support.h"
#include "tools/report/json.h"

namespace xxl::cli {
namespace {

template <class T>
std::string written(const T& value) {
  return Json().begin_object().member("m", value).end_object().text();
}

TEST(Json, numbers_are_the_same_in_every_locale) {
  const test::ScopedLocale locale("de_DE.UTF-8");
  if (!locale.ok()) GTEST_SKIP() << "no locale de_DE.UTF-8";
  EXPECT_EQ(written(1234.5), R"({"m": 1234.5})");
  EXPECT_EQ(written(0.00001234567), R"({"m": 1.23457e-05})");
  EXPECT_EQ(written(123456789), R"({"m": 123456789})");
}

TEST(Json, what_is_no_number_is_null) {
  EXPECT_EQ(written(std::numeric_limits<double>::infinity()), R"({"m": null})");
  EXPECT_EQ(written(-std::numeric_limits<double>::infinity()), R"({"m": null})");
  EXPECT_EQ(written(std::numeric_limits<double>::quiet_NaN()), R"({"m": null})");
  EXPECT_EQ(written(std::optional<unsigned>()), R"({"m": null})");
  EXPECT_EQ(written(std::optional(7U)), R"({"m": 7})");
}

TEST(Json, text_is_utf8_as_it_is) {
  EXPECT_EQ(written(std::string("a\"\\\n\x7f")), "{\"m\": \"a\\\"\\\\\\u000a\x7f\"}");
  const std::string characters = "\u00e4\u20ac\U0001f600\u07ff\ud7ff\uffff\U0010ffff";
  EXPECT_EQ(written(characters), "{\"m\": \"" + characters + "\"}");
}

TEST(Json, bytes_that_are_not_utf8_are_escaped_one_by_one) {
  EXPECT_EQ(written(std::string("x\xe9y")), R"({"m": "x\udce9y"})");
  // Cut short, too long a form of '/', a surrogate, beyond the last character.
  EXPECT_EQ(written(std::string("\xe2\x82")), R"({"m": "\udce2\udc82"})");
  EXPECT_EQ(written(std::string("\xc0\xaf")), R"({"m": "\udcc0\udcaf"})");
  EXPECT_EQ(written(std::string("\xe0\x80\xaf")), R"({"m": "\udce0\udc80\udcaf"})");
  EXPECT_EQ(written(std::string("\xed\xa0\x80")), R"({"m": "\udced\udca0\udc80"})");
  EXPECT_EQ(written(std::string("\xf4\x90\x80\x80")), R"({"m": "\udcf4\udc90\udc80\udc80"})");
}

}  // namespace
}  // namespace xxl::cli
