// Tests of the campaign itself: that it draws every option, that its references are right, that
// cases can be written and read, and that failing ones become small.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "case_file.h"
#include "cli/options_table.h"
#include "compressed.h"
#include "contents.h"
#include "division.h"
#include "draw.h"
#include "draw_plan.h"
#include "line_reference.h"
#include "options.h"
#include "promises.h"
#include "random.h"
#include "record_reference.h"
#include "row_reference.h"
#include "shrink.h"

namespace xxl::campaign {
namespace {

TEST(Options, EachIsDrawnOrListed) {
  Random random(1);
  for (const std::string_view name : kCommands) {
    for (const cli::OptionSpec& option : cli::find_command(name)->options) {
      if (how_drawn(option) != Drawn::from_table) continue;
      Job job = draw_job(random, true);
      EXPECT_TRUE(draw_argument(option, job, random))
          << "xxl " << name << ' ' << name_of(option)
          << ": make values for it (options.cc), or list it as one that makes no sense here";
    }
  }
}

TEST(Options, EachThatIsDrawnComes) {
  std::set<std::string> seen;
  Random random(2);
  for (int i = 0; i < 20'000; ++i) {
    const Job job = draw_job(random, true);
    for (const auto* options : {&job.options, &job.resources}) {
      for (const std::string& option : *options) {
        seen.insert(
            (job.command == "set" ? "union" : job.command) + ' ' +
            (option.starts_with("--") ? option.substr(0, option.find('=')) : option.substr(0, 2)));
      }
    }
  }
  for (const std::string_view name : kCommands) {
    for (const cli::OptionSpec& option : cli::find_command(name)->options) {
      if (how_drawn(option) != Drawn::from_table) continue;
      EXPECT_TRUE(seen.contains(std::string(name) + ' ' + name_of(option)))
          << name << name_of(option);
    }
  }
}

TEST(Jobs, TheSameSeedMakesTheSame) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random a(seed), b(seed);
    EXPECT_EQ(write_case({draw_job(a, true), {}}), write_case({draw_job(b, true), {}}));
  }
}

TEST(Cases, AreReadAsTheyWereWritten) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    Case one{draw_job(random, true), {}};
    one.plan = draw_faults(
        one.job, draw_machine(one.job, random),
        {.steps = 100, .memory = 1 << 20, .operations = {{"scratch", "read", "", 9}}}, random);
    const std::string text = write_case(one);
    EXPECT_EQ(write_case(read_case(text)), text);
  }
  EXPECT_THROW(read_case("comand sort\n"), std::runtime_error);
  EXPECT_THROW(read_case("command sort\n"), std::runtime_error);  // no inputs
}

TEST(Shrinking, EndsAtWhatTheFailureNeeds) {
  Case one;
  one.job.options = {"--stable", "--reverse", "--unique"};
  one.job.resources = {"--buffer-size=4M", "--parallel=3"};
  one.job.inputs = {{.path = "in/a", .records = 1000}, {.path = "in/b", .records = 77}};
  one.job.target = Target::replaced;
  one.plan.faults = {{"input", "read", "short", 1, 0, 1}, {"scratch", "write", "eio", 7, 2, 3}};
  one.plan.processors = 4;
  const auto fails = [](const Case& candidate) {
    std::uint64_t records = 0;
    for (const Input& input : candidate.job.inputs) records += input.records;
    return records >= 20 && has(candidate.job.options, "--reverse") &&
           std::ranges::any_of(candidate.plan.faults,
                               [](const Fault& fault) { return fault.effect == "eio"; });
  };
  const Case small = shrink(one, fails, 1000);
  EXPECT_TRUE(fails(small));
  EXPECT_EQ(small.job.options, std::vector<std::string>{"--reverse"});
  EXPECT_EQ(small.job.resources, std::vector<std::string>{"--buffer-size=4M"});
  ASSERT_EQ(small.job.inputs.size(), 1);
  EXPECT_LT(small.job.inputs[0].records, 40);
  EXPECT_EQ(small.job.target, Target::fresh);
  ASSERT_EQ(small.plan.faults.size(), 1);
  EXPECT_EQ(small.plan.faults[0], (Fault{"scratch", "write", "eio", 1, 1, 1}));
  EXPECT_EQ(small.plan.processors, 1);
}

template <typename T>
std::string bytes_of(std::vector<T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

Job job_of(std::vector<std::string> options) {
  Job job;
  job.options = std::move(options);
  return job;
}

TEST(RecordReference, SortsNumbersByTheirValue) {
  const auto sorted = [](const char* record, const std::string& bytes) {
    return sort_reference(job_of({record}), bytes);
  };
  EXPECT_EQ(sorted("--record=u32", bytes_of<std::uint32_t>({300, 7, 1u << 31})),
            bytes_of<std::uint32_t>({7, 300, 1u << 31}));
  EXPECT_EQ(sorted("--record=i64", bytes_of<std::int64_t>({300, -7, 0, -300})),
            bytes_of<std::int64_t>({-300, -7, 0, 300}));
  EXPECT_EQ(sorted("--record=f64", bytes_of<double>({1.5, -2, -0.0, 0.0, -1e300})),
            bytes_of<double>({-1e300, -2, -0.0, 0.0, 1.5}));
}

// Against a sort by exchanging neighbours, which is stable.
TEST(RecordReference, IsStableWhateverTheKeys) {
  Random random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::uint64_t> values;
    for (std::uint64_t i = random.below(40); i > 0; --i)
      values.push_back(random.below(5) | random() << 32);
    std::vector<std::uint64_t> exchanged = values;
    for (std::size_t end = exchanged.size(); end > 1; --end) {
      for (std::size_t i = 1; i < end; ++i) {
        if (std::uint32_t(exchanged[i]) > std::uint32_t(exchanged[i - 1]))
          std::swap(exchanged[i], exchanged[i - 1]);
      }
    }
    EXPECT_EQ(sort_reference(job_of({"--record=kv32", "--reverse"}), bytes_of(values)),
              bytes_of(exchanged));
  }
}

TEST(RecordReference, Folds) {
  const std::string bytes = bytes_of<std::uint64_t>({7, 1, 3, 5, 7, 2});
  EXPECT_EQ(sort_reference(job_of({"--record=kv64", "--unique"}), bytes),
            bytes_of<std::uint64_t>({3, 5, 7, 1}));
  EXPECT_EQ(sort_reference(job_of({"--record=kv64", "--sum=8:u64", "--count"}), bytes),
            bytes_of<std::uint64_t>({3, 5, 1, 7, 3, 2}));
  EXPECT_EQ(sort_reference(job_of({"--record=kv64", "--max=8:u64", "--skip=1"}), bytes),
            bytes_of<std::uint64_t>({7, 2}));
  const Job first = job_of({"--record=kv64", "--unique", "--keep-order"});
  EXPECT_EQ(first_of_each_key(first, *rank_records(first, {bytes})),
            bytes_of<std::uint64_t>({7, 1, 3, 5}));
  EXPECT_EQ(sort_reference(job_of({"--record=kv64", "--mean=8:u64"}), bytes),
            bytes_of<std::uint64_t>({3, 5, 7, 2}));  // 1.5, to the even one
  // What it does not know it does not answer.
  EXPECT_EQ(sort_reference(job_of({"--record=kv64", "--mean=8:f64"}), bytes), std::nullopt);
  EXPECT_EQ(sort_reference(job_of({"--record=kv64", "--sum=0:u64"}), bytes), std::nullopt);
}

// Against two nested loops.
TEST(RecordReference, Joins) {
  Random random(4);
  for (int round = 0; round < 30; ++round) {
    std::vector<std::uint64_t> sides[2];
    for (auto& side : sides) {
      for (std::uint64_t i = random.below(12); i > 0; --i) {
        side.push_back(random.below(6));
        side.push_back(i);
      }
    }
    std::vector<std::uint64_t> rows;
    for (std::uint64_t key = 0; key < 6; ++key) {
      for (std::size_t a = 0; a < sides[0].size(); a += 2) {
        for (std::size_t b = 0; b < sides[1].size(); b += 2) {
          if (sides[0][a] != key || sides[1][b] != key) continue;
          rows.insert(rows.end(), {key, sides[0][a + 1], sides[1][b + 1]});
        }
      }
    }
    EXPECT_EQ(join_reference(job_of({"--record=kv64"}), bytes_of(sides[0]), bytes_of(sides[1])),
              bytes_of(rows));
  }
}

TEST(RecordReference, JoinsTwoFormats) {
  for (const std::string how : {"--how=full", "--how=outer"}) {
    const Job job = job_of(
        {"--record1=fixed:3", "--left-on=0:u16", "--record2=fixed:4", "--right-on=1:u16be", how});
    EXPECT_EQ(join_reference(job, std::string("\1\0a\2\0b", 6), std::string("x\0\1yX\0\3Y", 8)),
              std::string("\1\0axy\2\0b\0\0\3\0\0XY", 15));
    EXPECT_EQ(joined_bytes(job), 5);
  }
}

TEST(RowReference, ReadsFields) {
  EXPECT_EQ(fields_of("a,\"b,\"\"c\",,d\r\n", ','),
            (std::vector<std::string>{"a", "b,\"c", "", "d"}));
  EXPECT_EQ(split_rows("a,\"b\nc\"\nd").size(), 2);
}

TEST(RowReference, ComparesNumbersByValue) {
  Job job = job_of({"--record=csv", "--key=3:number", "--key=1:integer:desc"});
  EXPECT_EQ(row_sort_reference(job, {"1,x,-0.5\n2,x,-1.25\n", "10,x,0.7\n9,x,0.7\n8,x,-1.3"}),
            "8,x,-1.3\n2,x,-1.25\n1,x,-0.5\n10,x,0.7\n9,x,0.7\n");
  job.options.push_back("--header");
  EXPECT_EQ(row_sort_reference(job, {"1,x,1\n"}), std::nullopt);  // columns have names
  EXPECT_EQ(row_sort_reference(
                job_of({"--record=csv", "--key=name", "--header", "--unique", "--limit=1"}),
                {"id,name\n1,b\n2,a\n", "id,name\n3,a"}),
            "id,name\n2,a\n");
}

TEST(RowReference, PutsEmptyFieldsWhereTheyBelong) {
  Job job = job_of({"--record=csv", "--key=1:desc"});
  EXPECT_EQ(row_sort_reference(job, {"a\n\"\"\nb\n"}), "\"\"\nb\na\n");
  job.options.push_back("--empty=last");
  EXPECT_EQ(row_sort_reference(job, {"a\n\"\"\nb\n"}), "b\na\n\"\"\n");
}

TEST(RowReference, PutsFieldsThatAreNoNumbersWhereTheyBelong) {
  const std::string rows = "NA\n2\n\"\"\n1\nN/A\n-0.5\n";
  Job job = job_of({"--record=csv", "--key=1:number:desc"});
  EXPECT_EQ(row_sort_reference(job, {rows}), std::nullopt);
  job.options.push_back("--malformed=keep");
  EXPECT_EQ(row_sort_reference(job, {rows}), "NA\n\"\"\nN/A\n2\n1\n-0.5\n");
  job.options.push_back("--empty=last");
  EXPECT_EQ(row_sort_reference(job, {rows}), "2\n1\n-0.5\nNA\n\"\"\nN/A\n");
}

TEST(SetReference, CountsAsSqlDoes) {
  const auto set = [](const char* operation, std::vector<std::string> options) {
    Job job = job_of(std::move(options));
    job.options.emplace_back("--record=csv");
    job.command = "set";
    job.operation = operation;
    return set_reference(job,
                         *rank_rows(job, {"b,1,,,\na,1,,,\na,2,,,\na,3,,,\n", "a,4,,,\nc,1,,,"}));
  };
  EXPECT_EQ(set("union", {"--key=1"}), "a,1,,,\nb,1,,,\nc,1,,,\n");
  EXPECT_EQ(set("union", {"--key=1", "--all", "--skip=1", "--limit=4"}),
            "a,2,,,\na,3,,,\na,4,,,\nb,1,,,\n");
  EXPECT_EQ(set("intersect", {"--key=1", "--all"}), "a,1,,,\n");
  EXPECT_EQ(set("intersect", {}), "");
  EXPECT_EQ(set("except", {"--key=1:desc"}), "b,1,,,\n");
  EXPECT_EQ(set("except", {"--key=1", "--all"}), "a,2,,,\na,3,,,\nb,1,,,\n");
}

// A sort(1) that compares the lengths of lines.
TEST(LineReference, KnowsWhichKeysAreEqual) {
  const Job job = job_of({"--unique", "--keep-order", "--header"});
  const auto ranked =
      rank_lines(job, {"head\nbb\na\ncc", "head\nccc\nd\n"}, [](const std::string& lines) {
        EXPECT_EQ(lines, "bb\na\ncc\nccc\nd\n");
        return GroupedLines{.ok = true, .sorted = "a\nd\nbb\ncc\nccc\n", .firsts = "a\nbb\nccc\n"};
      });
  EXPECT_EQ(first_of_each_key(job, *ranked), "head\nbb\na\nccc\n");
}

TEST(RowFolds, AreExact) {
  const std::string rows = "1,x,0.7,,\n1,\"a;b\",-1.25,,\"x\"\n2,,-0.5,,\n1,y,0.3,,\"p\"\"q\"\n";
  const auto folded = [&](std::vector<std::string> folds) {
    Job job = job_of(std::move(folds));
    job.options.insert(job.options.end(), {"--record=csv", "--key=1"});
    return row_sort_reference(job, {rows});
  };
  EXPECT_EQ(folded({"--sum=3", "--count"}), "1,x,-0.25,,,3\n2,,-0.5,,,1\n");
  EXPECT_EQ(folded({"--mean=3:m"}), "1,x,0.7,,,-0.08333333\n2,,-0.5,,,-0.5\n");
  EXPECT_EQ(folded({"--collect=2", "--last=5:l"}),
            "1,\"x;\"\"a;b\"\";y\",0.7,,,\"p\"\"q\"\n2,,-0.5,,,\n");
  EXPECT_EQ(folded({"--min=2:text", "--max=3:most"}), "1,\"a;b\",0.7,,,0.7\n2,,-0.5,,,-0.5\n");
  EXPECT_EQ(folded({"--sum=1"}), std::nullopt);  // of the key
}

TEST(Division, IsWhereItIsAskedFor) {
  const auto wrong = [](const char* option, const std::vector<std::string>& parts) {
    return wrong_division(job_of({option}), parts);
  };
  EXPECT_EQ(wrong("--part-bytes=5b", {"1\n22\n", "3333333\n", "4\n55\n"}), "");
  EXPECT_NE(wrong("--part-bytes=5b", {"1\n", "22\n3333333\n", "4\n55\n"}), "");
  EXPECT_EQ(wrong("--parts=2", {"a\nb\n", "c\nd\n"}), "");
  EXPECT_NE(wrong("--parts=2", {"a\nb\nc\n", "d\n"}), "");
  EXPECT_NE(wrong("--parts=3", {"a\nb\n", "c\nd\n"}), "");
  EXPECT_EQ(wrong("--part-by=2", {"x a\ny a\n", "x  a\n", "x\n"}), "");
  EXPECT_NE(wrong("--part-by=2", {"x a\ny b\n"}), "");
  EXPECT_NE(wrong("--part-by=2", {"x a\n", "y a\n"}), "");
}

TEST(Permutation, HasEachRecordAsOften) {
  EXPECT_TRUE(is_permutation(job_of({}), {"a\nb", "a\n"}, "b\na\na\n"));
  EXPECT_FALSE(is_permutation(job_of({}), {"a\nb", "a\n"}, "b\nb\na\n"));
}

TEST(Promises, KnowEveryFaultThatIsDrawn) {
  Job job;
  job.resources = {"--verify"};
  job.inputs = {{.path = "in/a.gz"}};
  for (const FaultKind& kind : fault_kinds(job)) {
    EXPECT_TRUE(may_strike(
        job, {std::string(kind.role), std::string(kind.operation), std::string(kind.effect)}));
  }
  EXPECT_TRUE(may_strike(job, {"input", "read", "flip"}));
  job.inputs.push_back({.path = "in/b"});
  EXPECT_FALSE(may_strike(job, {"input", "read", "flip"}));  // nothing would find it
}

TEST(Compressed, FilesHaveTheirContent) {
  for (const std::string& content :
       {std::string(), std::string("a\n"), std::string(250'000, 'b')}) {
    for (const std::string_view suffix : kSuffixes) {
      const std::string path = "in/a" + std::string(suffix);
      std::string file = as_file(path, content);
      EXPECT_NE(file, content);
      EXPECT_EQ(content_of(path, file), content);
      file.pop_back();
      EXPECT_EQ(content_of(path, file), std::nullopt);
    }
    EXPECT_EQ(as_file("in/a", content), content);
  }
}

}  // namespace
}  // namespace xxl::campaign
