// Types of STXXL's interface that do no I/O.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "xxl/stxxl.h"

namespace {

TEST(StxxlTuple, is_ordered_by_members_and_has_limits) {
  using Two = stxxl::tuple<int, stxxl::uint8>;
  EXPECT_TRUE(stxxl::tuple_less1st<Two>()(Two(1, 9), Two(2, 0)));
  EXPECT_TRUE(stxxl::tuple_less2nd<Two>()(Two(2, 0), Two(1, 9)));
  EXPECT_TRUE(stxxl::tuple_less1st_less2nd<Two>()(Two(1, 0), Two(1, 9)));
  EXPECT_TRUE(stxxl::tuple_greater1st<Two>()(Two(2, 0), Two(1, 9)));
  EXPECT_EQ(stxxl::tuple_less1st<Two>::min_value(), Two(std::numeric_limits<int>::min(), 0));
  EXPECT_EQ(stxxl::tuple_greater1st<Two>::min_value(), Two(std::numeric_limits<int>::max(), 255));
  std::ostringstream text;
  text << stxxl::tuple<int, int, int>(1, 2, 3);
  EXPECT_EQ(text.str(), "(1,2,3)");
}

TEST(StxxlUint, has_five_or_six_bytes) {
  EXPECT_EQ(sizeof(stxxl::uint40), 5u);
  EXPECT_EQ(sizeof(stxxl::uint48), 6u);
  stxxl::uint40 number(std::uint64_t{0xffffffff});
  ++number;
  EXPECT_EQ(number.u64(), std::uint64_t{1} << 32);
  --number;
  EXPECT_EQ(number, 0xffffffffu);
  number += stxxl::uint40(std::uint64_t{1} << 33);
  EXPECT_EQ(number.u64(), std::uint64_t{0x2ffffffff});
  EXPECT_LT(number, std::numeric_limits<stxxl::uint40>::max());
  EXPECT_EQ(stxxl::uint48::max().u64(), (std::uint64_t{1} << 48) - 1);
  EXPECT_EQ(stxxl::uint40(-1), stxxl::uint40::max());  // as STXXL's
}

TEST(StxxlRandom, gives_the_numbers_of_STXXL) {
  stxxl::ran32State = 1;
  const stxxl::random_number32 numbers;
  EXPECT_EQ(numbers(), 1664525u + 1013904223u);
  stxxl::random_number32_r own(1);
  EXPECT_EQ(own(), 1664525u + 1013904223u);
  const stxxl::random_number<> below;
  const stxxl::random_number64 wide;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_LT(below(10), 10u);
    EXPECT_LT(wide(10), 10u);
  }
}

TEST(StxxlCommandLine, is_parsed_as_by_STXXL) {
  std::string name, output;
  std::uint64_t bytes = 0;
  unsigned number = 0;
  bool flag = false;
  stxxl::cmdline_parser parser;
  parser.add_param_string("name", "a name", name);
  parser.add_string('o', "output", "a file", output);
  parser.add_bytes('M', "memory", "bytes", bytes);
  parser.add_uint('n', "number", "a number", number);
  parser.add_flag('f', "flag", "a flag", flag);
  const auto process = [&](std::vector<const char*> words) {
    words.insert(words.begin(), "program");
    words.push_back(nullptr);
    std::ostringstream out;
    return parser.process(static_cast<int>(words.size()) - 1,
                          const_cast<char* const*>(words.data()), out);
  };
  EXPECT_TRUE(process({"-M", "2 GiB", "--number=7", "who", "-f", "-oout"}));
  EXPECT_EQ(name, "who");
  EXPECT_EQ(output, "out");
  EXPECT_EQ(bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(number, 7u);
  EXPECT_TRUE(flag);
  EXPECT_FALSE(process({}));
  EXPECT_FALSE(process({"who", "more"}));
  EXPECT_FALSE(process({"who", "-M", "2 elephants"}));
  EXPECT_FALSE(process({"who", "-n", "7x"}));
  EXPECT_FALSE(process({"--help"}));
  EXPECT_TRUE(process({"who", "-M", "3k"}));
  EXPECT_EQ(bytes, 3000u);
}

}  // namespace
