#include "base/similar.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace xxl {
namespace {

const std::vector<std::string_view> kWords = {"sort", "join", "amount", "name"};

TEST(Similar, FindsTheWordWithTheFewestChanges) {
  EXPECT_EQ(most_similar("srot", kWords), "sort");
  EXPECT_EQ(most_similar("amuont", kWords), "amount");
  EXPECT_EQ(most_similar("Name", kWords), "name");
  EXPECT_EQ(most_similar("joins", kWords), "join");
}

TEST(Similar, WordsThatDifferInMuchAreNotMeant) {
  EXPECT_EQ(most_similar("merge", kWords), "");
  EXPECT_EQ(most_similar("", kWords), "");
  EXPECT_EQ(most_similar(std::string(1000, 'a'), kWords), "");
}

TEST(Similar, AsksWhetherItWasMeant) {
  EXPECT_EQ(did_you_mean("sotr", kWords), ": did you mean 'sort'?");
  EXPECT_EQ(did_you_mean("amont", kWords, "--"), ": did you mean '--amount'?");
  EXPECT_EQ(did_you_mean("merge", kWords), "");
}

}  // namespace
}  // namespace xxl
