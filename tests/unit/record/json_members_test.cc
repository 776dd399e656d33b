#include "record/json_members.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace xxl {
namespace {

// The fields of the paths, strings in quotes, and the fault behind them, if there is one.
std::string found(const std::vector<JsonMembers::Path>& paths, std::string_view text) {
  const JsonMembers members(paths);
  std::vector<FieldSpan> fields(paths.size());
  const auto show = [&] {
    std::string all;
    for (const FieldSpan& field : fields) {
      const std::string quote(field.quoted ? "'" : "");
      all += quote + std::string(field.content) + quote + "|";
    }
    return all;
  };
  const auto fault = members.check(text, fields.data());
  const std::string checked = show();
  if (fault) return checked + *fault;
  members.find(text, fields.data());
  EXPECT_EQ(show(), checked);
  return checked;
}

bool is_json(std::string_view text) {
  return !JsonMembers({}).check(text, nullptr);
}

TEST(JsonMembers, FindsMembersByPaths) {
  const std::vector<JsonMembers::Path> paths = {{"a"}, {"b", "c"}, {"b"}, {"d", "1", "e"}, {"a"}};
  EXPECT_EQ(found(paths, R"({"b": {"c" : 7 , "x":[]} ,"a":"t","d":[0,{"e":true}]})"),
            R"('t'|7|{"c" : 7 , "x":[]}|true|'t'|)");
  EXPECT_EQ(found(paths, R"({"a":null,"b":[{"c":1}],"d":{"1":{"e":-0.5e+3}}})"),
            R"(||[{"c":1}]|-0.5e+3||)");
  EXPECT_EQ(found(paths, " {} \r"), "|||||");
}

TEST(JsonMembers, TheFirstOfSeveralCounts) {
  EXPECT_EQ(found({{"a"}, {"b", "c"}}, R"({"a":1,"a":2,"b":{},"b":{"c":3},"b":{"c":4}})"), "1|3|");
  EXPECT_EQ(found({{"a"}}, R"({"a":null,"a":2})"), "|");
}

TEST(JsonMembers, EscapesAreResolvedInNamesAndValues) {
  EXPECT_EQ(found({{"a\"b"}, {"é"}}, R"({"a\"b":"x\ny\u00e9\ud83d\ude00","\u00e9":"\\"})"),
            "'x\nyé😀'|'\\'|");
  EXPECT_EQ(found({{"a"}}, R"({"a":""})"), "''|");
}

TEST(JsonMembers, NumbersAreAsTheyAreWritten) {
  const std::string digits(400, '7');
  EXPECT_EQ(found({{"a"}}, "{\"a\":" + digits + ".0 }"), digits + ".0|");
  for (const char* number : {"0", "-0", "1.50", "1e400", "1E-5", "-1.0e+0"}) {
    EXPECT_EQ(found({{"a"}}, "{\"a\":[" + std::string(number) + "]}"),
              "[" + std::string(number) + "]|");
  }
  for (const char* number : {"01", "+1", "1.", ".5", "1e", "-", "1x", "0x1", "NaN", "- 1"}) {
    EXPECT_FALSE(is_json("{\"a\":" + std::string(number) + "}")) << number;
  }
}

TEST(JsonMembers, TellsWhatIsMalformed) {
  for (const char* text : {"",
                           " ",
                           "1",
                           "[]",
                           "{",
                           "}",
                           "{}}",
                           "{} {}",
                           "{}x",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{\"a\":1 \"b\":2}",
                           "{\"a\":[1,]}",
                           "{\"a\":[,1]}",
                           "{\"a\":[1 2]}",
                           "{\"a\":[1}",
                           "{\"a\":{\"b\":1}",
                           "{\"a\":{\"b\":{}}",
                           "{\"a\":[[}",
                           "{a:1}",
                           "{'a':1}",
                           "{\"a\":tru}",
                           "{\"a\":truex}",
                           "{\"a\":nul}",
                           "{\"a\":\"\\u12\"}",
                           "{\"a\":\"\\ud800\"}",
                           "{\"a\":\"x}",
                           "{\"a\":\"\x01\"}",
                           "{\"a\":\"\xff\"}",
                           "{\"\\q\":1}",
                           "{1:2}",
                           "{,}",
                           "{\"a\":1]"}) {
    EXPECT_FALSE(is_json(text)) << text;
  }
  EXPECT_EQ(found({{"a"}}, R"({"a":1,"b":x})"),
            "1|not JSON: a comma, colon, bracket or value is missing or misplaced");
  EXPECT_EQ(found({{"a"}}, "[1]"), "|not an object of JSON");
  EXPECT_EQ(found({}, R"({"a":"\x"})"), "not JSON: an invalid escape in a string");
}

TEST(JsonMembers, DepthAndLengthAreBounded) {
  const auto nested = [](std::size_t depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_TRUE(is_json(nested(1000)));
  EXPECT_FALSE(is_json(nested(1001)));
  EXPECT_FALSE(is_json(nested(1000000)));
  const std::string text = "{\"a\":\"" + std::string(2000000, 'x') + "\\n\"}";
  EXPECT_EQ(found({{"a"}}, text).size(), 2000004);
  EXPECT_TRUE(is_json("{}"));  // gives back the room of the long one
  std::vector<FieldSpan> fields(1);
  EXPECT_TRUE(JsonMembers({{"a"}}, 1000).check(text, fields.data()));
  EXPECT_EQ(fields[0].content, "");
}

TEST(JsonMembers, StringsAreWrittenWithEscapes) {
  std::string text;
  append_json_string(std::string("a\"\\\n\x01\x1f\t é\0", 11), text);
  EXPECT_EQ(text, "\"a\\\"\\\\\\n\\u0001\\u001f\\t é\\u0000\"");
  EXPECT_TRUE(is_json("{\"a\":" + text + "}"));
}

}  // namespace
}  // namespace xxl
