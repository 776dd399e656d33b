// Sorts and joins of files as the public headers have them.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "io_test_support.h"
#include "xxl/join.h"
#include "xxl/resources.h"
#include "xxl/sort.h"
#include "xxl/sorter.h"

// Members of a job that are not named keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace xxl {
namespace {

class FileJobs : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string read(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::string path(const std::string& name) const { return directory_ / name; }

  // What `job` makes of `input`.
  std::string sorted(SortJob job, const std::string& input) {
    job.inputs = {write("input", input)};
    job.output = path("output");
    job.scratch_dirs = {directory_.path()};
    sort_files(job);
    return read(job.output);
  }
  std::string joined(JoinJob job, const std::string& r, const std::string& s) {
    job.inputs = {write("r", r), write("s", s)};
    job.output = path("output");
    job.scratch_dirs = {directory_.path()};
    join_files(job);
    return read(job.output);
  }

  io::test::TempDirectory directory_;
};

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.code() == ErrorCode::usage ? error.what() : "not an error of usage";
  }
  return "no error";
}

TEST_F(FileJobs, SortLinesAsSort1Does) {
  EXPECT_EQ(sorted({}, "b\na\n"), "a\nb\n");
  EXPECT_EQ(sorted({.keys = {"2,2n", "1,1r"}}, "a 10\nb 9\nc 10\n"), "b 9\nc 10\na 10\n");
  EXPECT_EQ(
      sorted({.keys = {"2"}, .reverse = true, .separator = ":", .stable = true}, "a:1\nb:2\nc:1\n"),
      "b:2\na:1\nc:1\n");
  EXPECT_EQ(sorted({.flags = "f", .zero_terminated = true}, std::string("b\0A\0", 4)),
            std::string("A\0b\0", 4));
  EXPECT_EQ(sorted({.limit = 2, .flags = "n"}, "10\n9\n8\n"), "8\n9\n");
  EXPECT_EQ(sorted({.unique = true}, "b\na\nb\n"), "a\nb\n");
  EXPECT_EQ(sorted({.count = true}, "b\na\nb\n"), "      1 a\n      2 b\n");
}

TEST_F(FileJobs, SortRows) {
  EXPECT_EQ(sorted({.format = "csv", .keys = {"n:number:desc"}, .header = true}, "n\n9\n10\n"),
            "n\n10\n9\n");
  EXPECT_EQ(sorted({.format = "tsv", .keys = {"1"}, .reverse = true}, "a\t1\nb\t2\n"),
            "b\t2\na\t1\n");
  EXPECT_EQ(sorted({.format = "csv", .keys = {"1"}, .aggregates = {"sum=2"}}, "b,1\na,2\nb,3\n"),
            "a,2\nb,4\n");
  EXPECT_EQ(sorted({.format = "csv",
                    .keys = {"k"},
                    .aggregates = {"sum=n", "max=n:most", "collect=n:all"},
                    .header = true},
                   "k,n\nb,1\na,2\nb,3\n"),
            "k,n,most,all\na,2,2,2\nb,4,3,1;3\n");
  EXPECT_EQ(sorted({.format = "tsv", .keys = {"1"}, .quotes = false}, "b\t\"x\na\t5\" y\n"),
            "a\t5\" y\nb\t\"x\n");
  EXPECT_EQ(sorted({.format = "csv", .keys = {"1:number"}, .empty_last = true}, "\"\",x\n1,y\n"),
            "1,y\n\"\",x\n");
  EXPECT_EQ(sorted({.format = "csv", .keys = {"1:number"}, .empty_last = true, .malformed = "keep"},
                   "NA\n2\n1\n"),
            "1\n2\nNA\n");
}

TEST_F(FileJobs, GroupRows) {
  EXPECT_EQ(sorted({.format = "csv",
                    .keys = {"k"},
                    .aggregates = {"max=n:most", "count", "sum=n"},
                    .header = true,
                    .group = true},
                   "n,k\n1,b\n2,a\n3,b\n"),
            "k,most,count,sum(n)\na,2,1,2\nb,3,2,4\n");
  EXPECT_EQ(sorted({.format = "csv", .count = true, .aggregates = {"median=1"}, .group = true},
                   "3\n10\n2\n4\n"),
            "3.5,4\n");
  EXPECT_EQ(sorted({.format = "csv", .keys = {"1"}, .group = true}, "b,1\na,2\nb,3\n"), "a\nb\n");
}

TEST_F(FileJobs, SortRecordsOfAFixedSize) {
  EXPECT_EQ(sorted({.format = "fixed:2"}, "bxay"), "aybx");
  EXPECT_EQ(sorted({.format = "fixed:2", .keys = {"1:u8:asc"}, .reverse = true}, "bxay"), "bxay");
  EXPECT_EQ(sorted({.format = "fixed:2", .keys = {"1:u8"}, .reverse = true}, "bxay"), "aybx");
  EXPECT_EQ(
      sorted({.format = "fixed:2", .keys = {"0:u8"}, .count = true, .aggregates = {"sum=1:u8"}},
             "b1a!b!"),
      std::string("a!\1\0\0\0\0\0\0\0bR\2\0\0\0\0\0\0\0", 20));
  EXPECT_EQ(sorted({.format = "fixed:3", .keys = {"0:u8"}, .aggregates = {"max=1:u8", "last=2:u8"}},
                   "b1xa!yb2z"),
            "a!yb2z");
}

TEST_F(FileJobs, JoinLinesAsJoin1Does) {
  EXPECT_EQ(joined({}, "b 2\na 1\n", "a x\nc y\n"), "a 1 x\n");
  EXPECT_EQ(
      joined({.how = JoinKind::left, .layout = "1.2,2.2,0", .filler = "-"}, "b 2\na 1\n", "a x\n"),
      "1 x a\n2 - b\n");
  EXPECT_EQ(joined({.left_on = {"2"}, .right_on = {"1"}, .separator = ":", .ignore_case = true},
                   "x:K\n", "k:y\n"),
            "K:x:y\n");
  EXPECT_EQ(joined({.how = JoinKind::anti}, "b 2\na 1\n", "a x\n"), "b 2\n");
  EXPECT_EQ(joined({.layout = "auto", .empty_keys_match = false}, "a 1\n", "a 2\n"), "a 1 2\n");
}

TEST_F(FileJobs, JoinRowsAndRecords) {
  EXPECT_EQ(joined({.formats = {"tsv", "tsv"},
                    .left_on = {"1"},
                    .right_on = {"1"},
                    .filler = "-",
                    .quotes = false},
                   "1\t\"x\t\n", "1\ty\n"),
            "1\t\"x\t-\ty\n");
  EXPECT_EQ(joined({.formats = {"csv", "csv"},
                    .left_on = {"k"},
                    .right_on = {"k"},
                    .how = JoinKind::full,
                    .header = true},
                   "k,v\n1,a\n", "k,v\n2,b\n"),
            "k,v_1,v_2\n1,a,\n2,,b\n");
  EXPECT_EQ(joined({.formats = {"fixed:2", "fixed:3"},
                    .left_on = {"0:u8"},
                    .right_on = {"0:u8"},
                    .layout = "0,2.1:2"},
                   "bxay", "a12c34"),
            "a12");
}

TEST_F(FileJobs, MembersOfOtherRecordsAreRefused) {
  const auto sort_message = [&](const SortJob& job) {
    return message_of([&] { sorted(job, ""); });
  };
  EXPECT_EQ(sort_message({.format = "u64", .header = true}),
            "SortJob::header is not for records of u64");
  EXPECT_EQ(sort_message({.format = "lines", .quotes = false}),
            "SortJob::quotes is not for records of lines");
  EXPECT_EQ(sort_message({.format = "csv", .flags = "n"}),
            "SortJob::flags is not for records of csv");
  EXPECT_EQ(sort_message({.aggregates = {"max=2"}}),
            "SortJob::aggregates is not for records of lines");
  EXPECT_EQ(
      sort_message({.format = "u64", .aggregates = {"most=2"}}),
      "SortJob::aggregates: 'most=2' is not FOLD=FIELD, FOLD being sum, min, max, mean, first, "
      "last or collect, or with SortJob::group also median or count-distinct; or count "
      "alone");
  EXPECT_EQ(sort_message({.format = "u64", .group = true}),
            "SortJob::group is not for records of u64");
  EXPECT_EQ(sort_message({.format = "csv", .group = true}),
            "groups need keys, or something to make of their rows");
  EXPECT_NE(sort_message({.format = "csv", .keys = {"1"}, .aggregates = {"median=2"}}), "");
  EXPECT_EQ(sort_message({.format = "kv64", .aggregates = {"collect=8:u64"}}),
            "invalid --collect '8:u64': records of a fixed size have no room for all values");
  EXPECT_EQ(sort_message({.flags = "q"}),
            "SortJob::flags: unknown letter 'q', use those of \"bdfghiMnRV\"");
  const auto join_message = [&](const JoinJob& job) {
    return message_of([&] { joined(job, "", ""); });
  };
  EXPECT_EQ(join_message({.formats = {"csv", "lines"}}),
            "records of csv and of lines cannot be joined with each other");
  EXPECT_EQ(join_message({.method = JoinMethod::hash}),
            "JoinJob::method is not for records of lines");
  EXPECT_EQ(join_message({.layout = "3.1"}), "layout: '3.1' is not 0, 1.FIELD or 2.FIELD");
  EXPECT_EQ(join_message({.left_on = {"x"}, .right_on = {"1"}}),
            "'x' is not a field of lines: give its number, from 1 (for a CSV file add "
            "--csv)");
  EXPECT_EQ(join_message({.left_on = {"1,2"}, .right_on = {"1"}}),
            "2 keys on the left, 1 on the right: give as many on both sides");
}

TEST_F(FileJobs, PlanAndCheckTellBeforeAnythingIsWritten) {
  SortJob job{.inputs = {write("input", "b\na\n")}};
  job.output = path("output");
  EXPECT_EQ(plan_sort(job).input_bytes, 4);
  const OrderCheck check = check_order(job);
  EXPECT_FALSE(check.ordered);
  EXPECT_EQ(check.record, 1);
  EXPECT_EQ(check.text, "a");
  job.inputs.push_back("more");
  EXPECT_EQ(message_of([&] { (void)check_order(job); }),
            "check_order takes one input, and no merge_only, skip, limit, count, aggregates or "
            "group");
  EXPECT_EQ(read(path("output")), "");
}

TEST_F(FileJobs, WriteAndReadParts) {
  SortJob sort;
  sort.parts = 2;
  sort.inputs = {write("input", "b\nd\na\nc\n")};
  sort.output = path("parts");
  sort.scratch_dirs = {directory_.path()};
  sort_files(sort);
  EXPECT_EQ(read(path("parts/part-00000.txt")), "a\nb\n");
  EXPECT_EQ(read(path("parts/part-00001.txt")), "c\nd\n");
  JoinJob join;
  join.part_bytes = 4;
  join.inputs = {path("parts"), write("s", "a\nc\nd\n")};
  join.output = path("joined");
  join.scratch_dirs = {directory_.path()};
  join_files(join);
  EXPECT_EQ(read(path("joined/part-00000.txt")), "a\nc\n");
  EXPECT_EQ(read(path("joined/part-00001.txt")), "d\n");
  EXPECT_NE(read(path("joined/_manifest.json")).find("\"record\": \"lines\""), std::string::npos);
}

TEST_F(FileJobs, RefusePartsThereCannotBe) {
  SortJob sort;
  sort.parts = 2;
  sort.inputs = {write("input", "b\n")};
  EXPECT_NE(message_of([&] { sort_files(sort); }).find("directory"), std::string::npos);
  sort.output = path("parts");
  sort.part_bytes = 1;
  EXPECT_NE(message_of([&] { sort_files(sort); }).find("exclude each other"), std::string::npos);
  sort.part_bytes = 0;
  sort.parts = 100'001;
  EXPECT_NE(message_of([&] { sort_files(sort); }).find("100000"), std::string::npos);
}

TEST_F(FileJobs, ShareResources) {
  const resources shared(
      {.memory_bytes = 64 << 20, .users = 2, .scratch_dirs = {directory_.path()}, .threads = 1});
  SortJob sort;
  sort.inputs = {write("input", "b\na\n")};
  sort.output = path("output");
  EXPECT_EQ(sort_files(sort, shared).plan.memory_bytes, std::uint64_t{32} << 20);
  EXPECT_EQ(read(sort.output), "a\nb\n");
  JoinJob join;
  join.inputs = {write("r", "a 1\n"), write("s", "a 2\n")};
  join.output = path("joined");
  EXPECT_EQ(join_files(join, shared).plan.memory_bytes, std::uint64_t{32} << 20);
  EXPECT_EQ(read(join.output), "a 1 2\n");
  EXPECT_EQ(shared.free_memory_bytes(), std::uint64_t{64} << 20);

  sort.memory_bytes = 16 << 20;
  EXPECT_THROW(sort_files(sort, shared), Error);
  sort.memory_bytes = 0;
  const sorter<int> one({}, shared), two({}, shared);
  EXPECT_THROW(sort_files(sort, shared), Error);  // no memory is left
}

}  // namespace
}  // namespace xxl
