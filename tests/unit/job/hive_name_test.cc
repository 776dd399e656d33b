#include "job/hive_name.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace xxl {
namespace {

std::string refused(std::string_view column, std::string_view value) {
  try {
    return hive_name(column, value);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(HiveName, says_column_and_value) {
  EXPECT_EQ(hive_name("city", "Berlin"), "city=Berlin");
  EXPECT_EQ(hive_name("city", "São Paulo, SP"), "city=São Paulo, SP");
}

TEST(HiveName, has_bytes_with_a_meaning_in_names_as_hexadecimal_digits) {
  EXPECT_EQ(hive_name("a=b", "x/y"), "a%3Db=x%2Fy");
  EXPECT_EQ(hive_name("t", "12:30:00"), "t=12%3A30%3A00");
  EXPECT_EQ(hive_name("t", "\"#%'*?\\{[]^\x7f"), "t=%22%23%25%27%2A%3F%5C%7B%5B%5D%5E%7F");
  EXPECT_EQ(hive_name("t", "a\nb"), "t=a%0Ab");
  EXPECT_EQ(hive_name("t", std::string(1, '\0')), "t=%00");
}

TEST(HiveName, is_utf8_whatever_the_value) {
  EXPECT_EQ(hive_name("t", "\xff\xc3\xa9\xc3"), "t=%FF\xc3\xa9%C3");
}

TEST(HiveName, of_an_empty_value_is_that_of_null) {
  EXPECT_EQ(hive_name("t", ""), "t=__HIVE_DEFAULT_PARTITION__");
  EXPECT_EQ(hive_name("t", std::nullopt), "t=__HIVE_DEFAULT_PARTITION__");
  EXPECT_NE(refused("t", "__HIVE_DEFAULT_PARTITION__").find("as an empty value"),
            std::string::npos);
}

TEST(HiveName, is_a_name_that_a_directory_can_have) {
  EXPECT_EQ(hive_name("t", std::string(253, 'x')).size(), 255);
  EXPECT_NE(refused("t", std::string(254, 'x')).find("256 bytes long"), std::string::npos);
  EXPECT_NE(refused("t", std::string(100, '/')).find("302 bytes long"), std::string::npos);
}

}  // namespace
}  // namespace xxl
