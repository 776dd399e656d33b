// Whole hash joins over real files, against a join of all pairs: with the real backends, and with
// queues that complete in random order and fail on demand.
#include "job/join/hash_join.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "advised_memory.h"
#include "base/error.h"
#include "base/units.h"
#include "io_test_support.h"
#include "job/join/hash_plan.h"
#include "join/hash_table.h"
#include "join/output_layout.h"
#include "simulated_queue.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using io::test::file_text;
using io::test::write_file;
using test::Bytes;
using test::format_of;
using test::text_of;
using FormatsOfSides = std::array<RecordFormat, kJoinSides>;

constexpr JoinKind kKinds[] = {JoinKind::inner, JoinKind::left, JoinKind::right,
                               JoinKind::full,  JoinKind::semi, JoinKind::anti};

// The key of `record` as bytes that are the same for equal keys of both formats.
std::string key_text(const RecordFormat& format, const std::byte* record) {
  std::string key;
  for (const KeyField& field : format.key) {
    std::string part(reinterpret_cast<const char*>(record + field.offset), field.length);
    if (field.type != KeyType::bytes && !field.big_endian) std::reverse(part.begin(), part.end());
    key += part;
  }
  return key;
}

// Records with keys that are drawn from `distinct` different ones, the same for both formats.
// `favourite`: so many of a hundred have the first of them.
Bytes records_of(const RecordFormat& format, std::size_t count, std::uint64_t distinct,
                 unsigned favourite, Random& random) {
  Bytes records = test::random_records(format, count, random);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_favourite = random.below(100) < favourite;
    Random key(is_favourite ? 0 : random.below(distinct));
    for (const KeyField& field : format.key) {
      std::uint64_t bits = key();
      for (std::size_t j = 0; j < field.length; ++j, bits = bits >> 8 | bits << 56) {
        const bool reversed = field.big_endian || field.type == KeyType::bytes;
        records[i * format.record_bytes + field.offset + (reversed ? field.length - 1 - j : j)] =
            static_cast<std::byte>(bits);
      }
    }
  }
  return records;
}

// What a join must give.
struct Expected {
  std::string rows;  // sorted as bytes
  std::uint64_t count = 0;
  std::array<std::uint64_t, kJoinSides> matched{};
};

std::string sorted_rows(const std::string& rows, std::size_t row_bytes) {
  std::vector<std::string_view> sorted;
  for (std::size_t at = 0; at < rows.size(); at += row_bytes) {
    sorted.push_back(std::string_view(rows).substr(at, row_bytes));
  }
  std::sort(sorted.begin(), sorted.end());
  std::string result;
  for (const std::string_view row : sorted) result += row;
  return result;
}

Expected join_by_map(const FormatsOfSides& formats, const std::array<Bytes, kJoinSides>& records,
                     JoinKind kind, JoinSide build, const std::string& row_layout) {
  const RowLayout layout(formats, kind, row_layout);
  const auto build_index = static_cast<std::size_t>(build), probe_index = 1 - build_index;
  Expected expected;
  const auto add_row = [&](const std::byte* of_build, const std::byte* of_probe) {
    std::string row(layout.row_bytes(), '\0');
    const bool build_is_r = build == JoinSide::r;
    layout.write_run(build_is_r ? of_build : of_probe, 0, build_is_r ? of_probe : of_build, 0, 1,
                     reinterpret_cast<std::byte*>(row.data()));
    expected.rows += row;
    ++expected.count;
  };
  const auto keeps_unmatched = [&](std::size_t side) {
    return side == 0 ? keeps_unmatched_r(kind) : keeps_unmatched_s(kind);
  };
  const auto keeps_matched = [&](std::size_t side) { return side == 0 && kind == JoinKind::semi; };
  const auto at = [&](std::size_t side, std::size_t i) {
    return records[side].data() + i * formats[side].record_bytes;
  };
  const auto count = [&](std::size_t side) {
    return records[side].size() / formats[side].record_bytes;
  };
  std::unordered_map<std::string, std::vector<std::size_t>> table;
  for (std::size_t i = 0; i < count(build_index); ++i) {
    table[key_text(formats[build_index], at(build_index, i))].push_back(i);
  }
  std::vector<bool> matched(count(build_index));
  for (std::size_t i = 0; i < count(probe_index); ++i) {
    const std::byte* probing = at(probe_index, i);
    const auto found = table.find(key_text(formats[probe_index], probing));
    if (found != table.end()) {
      ++expected.matched[probe_index];
      for (const std::size_t partner : found->second) {
        matched[partner] = true;
        if (keeps_pairs(kind)) add_row(at(build_index, partner), probing);
      }
    }
    if (found != table.end() ? keeps_matched(probe_index) : keeps_unmatched(probe_index)) {
      add_row(nullptr, probing);
    }
  }
  for (std::size_t i = 0; i < count(build_index); ++i) {
    expected.matched[build_index] += matched[i] ? 1 : 0;
    if (matched[i] ? keeps_matched(build_index) : keeps_unmatched(build_index)) {
      add_row(at(build_index, i), nullptr);
    }
  }
  expected.rows = sorted_rows(expected.rows, layout.row_bytes());
  return expected;
}

class HashJoinTest : public test::WholeSortTest {
 protected:
  FixedJoinOptions options(const FormatsOfSides& formats, JoinKind kind,
                           std::uint64_t memory = kMiB) {
    FixedJoinOptions options;
    options.formats = formats;
    options.how = kind;
    options.method = JoinMethod::hash;
    for (std::size_t side = 0; side < kJoinSides; ++side) {
      options.inputs[side] = directory_ / (side == 0 ? "r" : "s");
      write_file(options.inputs[side], text_of(records_[side]));
    }
    options.output = output_;
    options.memory_bytes = memory;
    options.threads = 2;
    return options;
  }

  void set_records(const FormatsOfSides& formats, std::size_t r_count, std::size_t s_count,
                   std::uint64_t distinct, unsigned favourite, std::uint64_t seed) {
    Random random(seed);
    records_[0] = records_of(formats[0], r_count, distinct, favourite, random);
    records_[1] = records_of(formats[1], s_count, distinct, favourite, random);
  }

  JoinReport expect_joined(const FixedJoinOptions& options) {
    const JoinReport report = hash_join(options);
    const Expected expected =
        join_by_map(options.formats, records_, options.how, report.plan.build, options.layout);
    EXPECT_EQ(report.rows, expected.count);
    for (std::size_t side = 0; side < kJoinSides; ++side) {
      EXPECT_EQ(report.sides[side].records,
                records_[side].size() / options.formats[side].record_bytes);
      EXPECT_EQ(report.sides[side].matched, expected.matched[side]) << side;
    }
    EXPECT_EQ(report.phases.size(), 3u);
    if (options.count_only) {
      EXPECT_EQ(report.bytes_written, 0u);
      EXPECT_FALSE(std::filesystem::exists(options.output));
    } else {
      const RowLayout layout(options.formats, options.how, options.layout);
      EXPECT_TRUE(sorted_rows(file_text(options.output), layout.row_bytes()) == expected.rows)
          << "the output is wrong";
      EXPECT_EQ(report.bytes_written, expected.rows.size());
      const auto* rows = reinterpret_cast<const std::byte*>(expected.rows.data());
      EXPECT_EQ(report.checksum,
                test::hash_of({rows, rows + expected.rows.size()}, layout.row_bytes()).sum);
    }
    expect_nothing_left();
    return report;
  }

  std::array<Bytes, kJoinSides> records_;
};

struct Parameter {
  std::string name;
  FormatsOfSides formats;
};

class HashJoinOfFormats : public HashJoinTest, public testing::WithParamInterface<Parameter> {};

INSTANTIATE_TEST_SUITE_P(
    FormatsOfSides, HashJoinOfFormats,
    testing::Values(
        Parameter{"kv32", {format_of("kv32"), format_of("kv32")}},
        Parameter{"kv64", {format_of("kv64"), format_of("kv64")}},
        Parameter{"u64_kv64", {format_of("u64"), format_of("kv64")}},
        Parameter{"gensort", {format_of("gensort"), format_of("fixed:100", {"90:bytes10"})}},
        Parameter{"byte_orders", {format_of("kv64"), format_of("fixed:19", {"11:u64be"})}},
        Parameter{"fields",
                  {format_of("fixed:40", {"3:u16be", "30:bytes5", "20:i32:desc"}),
                   format_of("fixed:17", {"12:u16", "0:bytes5", "6:i32be:desc"})}},
        Parameter{"floats", {format_of("f64"), format_of("fixed:33", {"2:f64be"})}}),
    [](const auto& info) { return info.param.name; });

TEST_P(HashJoinOfFormats, gives_all_kinds_of_rows_whichever_side_is_in_the_table) {
  const FormatsOfSides& formats = GetParam().formats;
  std::uint64_t seed = 400;
  struct Shape {
    std::size_t r, s;
    std::uint64_t distinct;
    unsigned favourite;
  };
  // Mostly one partner; few keys; none in common but one; one that most records have.
  for (const Shape& shape :
       {Shape{3000, 20000, 4000, 0}, Shape{20000, 3000, 4000, 0}, Shape{300, 2000, 20, 0},
        Shape{2000, 300, 20, 0}, Shape{2000, 9000, 1u << 31, 1}, Shape{300, 4000, 300, 50}}) {
    set_records(formats, shape.r, shape.s, shape.distinct, shape.favourite, ++seed);
    for (const JoinKind kind : kKinds) {
      SCOPED_TRACE(std::to_string(shape.r) + " x " + std::to_string(shape.s) + " of " +
                   std::to_string(shape.distinct) + ", kind " +
                   std::to_string(static_cast<int>(kind)));
      FixedJoinOptions options = this->options(formats, kind, 2 * kMiB);
      options.threads = 1 + seed % 4;
      options.queue_factory = test::simulated_queues(seed);
      const JoinReport report = expect_joined(options);
      const bool r_is_smaller = records_[0].size() < records_[1].size();
      if (records_[0].size() * 2 < records_[1].size() ||
          records_[1].size() * 2 < records_[0].size()) {
        EXPECT_EQ(report.plan.build, r_is_smaller ? JoinSide::r : JoinSide::s);
      }
      std::filesystem::remove(output_);
      options.count_only = true;
      expect_joined(options);
      if (HasFailure()) return;
    }
  }
}

TEST_F(HashJoinTest, rows_without_number_pass_through_little_memory) {
  // Each of S has all of R as partners: 700 times the input.
  const FormatsOfSides formats{format_of("kv64"), format_of("kv64")};
  for (const unsigned threads : {1u, 3u}) {
    set_records(formats, 700, 1500, 1, 0, 410);
    FixedJoinOptions options = this->options(formats, JoinKind::full, 512 * kKiB);
    options.threads = threads;
    options.queue_factory = test::simulated_queues(411);
    EXPECT_EQ(expect_joined(options).rows, 700u * 1500u);
  }
}

TEST_F(HashJoinTest, inputs_may_be_empty) {
  const FormatsOfSides formats{format_of("kv32"), format_of("kv32")};
  for (const auto& [r, s] : {std::pair{0, 0}, std::pair{0, 1000}, std::pair{1000, 0}}) {
    for (const JoinKind kind : kKinds) {
      set_records(formats, static_cast<std::size_t>(r), static_cast<std::size_t>(s), 10, 0, 420);
      expect_joined(options(formats, kind));
    }
  }
}

TEST_F(HashJoinTest, a_file_that_is_larger_than_it_says_is_read_to_its_end) {
  const FormatsOfSides formats{format_of("fixed:1"), format_of("fixed:1")};
  records_[0] = Bytes(1, std::byte{'\n'});
  FixedJoinOptions options = this->options(formats, JoinKind::semi);
  options.inputs[1] = "/proc/self/status";
  EXPECT_EQ(hash_join(options).rows, 1u);
}

TEST_F(HashJoinTest, keys_that_do_not_fit_together_are_told) {
  const FormatsOfSides formats{format_of("kv32"), format_of("gensort")};
  EXPECT_THROW(hash_join(options(formats, JoinKind::inner)), Error);
}

TEST_F(HashJoinTest, every_backend_gives_the_same_output) {
  const FormatsOfSides formats{format_of("kv64"), format_of("kv64")};
  set_records(formats, 60000, 200000, 80000, 0, 430);
  for (const Backend backend : {Backend::threads, Backend::automatic, Backend::io_uring}) {
    FixedJoinOptions options = this->options(formats, JoinKind::full, 8 * kMiB);
    options.backend = backend;
    try {
      expect_joined(options);
    } catch (const Error& error) {
      if (backend != Backend::io_uring) throw;
      GTEST_SKIP() << "no io_uring here: " << error.what();
    }
  }
}

// A table beyond the caches, which S is looked up in by partitions, in several batches; or as it
// comes, where there is no memory for batches.
TEST_F(HashJoinTest, records_may_be_looked_up_in_batches) {
  const FormatsOfSides formats{format_of("kv64"), format_of("kv64")};
  constexpr std::size_t kR = 300000, kS = 700000;
  set_records(formats, kR, kS, 400000, 2, 435);
  for (const JoinKind kind : {JoinKind::semi, JoinKind::anti, JoinKind::inner, JoinKind::full}) {
    if (kind == JoinKind::inner) {  // not with favourites: all too many pairs
      set_records(formats, kR, kS, 400000, 0, 436);
    }
    HashPlanInput input{20 * kMiB, 2, kR, 16, 16, RowLayout(formats, kind, "").row_bytes(),
                        kS * 16};
    const HashGeometry geometry = plan_hash_geometry(input).value();
    EXPECT_GT(geometry.table.partitions, 8u);
    ASSERT_GT(geometry.batch_records, 0u);
    EXPECT_LT(geometry.batch_records * 2, kS);
    FixedJoinOptions options = this->options(formats, kind, input.memory_bytes);
    expect_joined(options);
    const std::string rows = file_text(output_);
    options.queue_factory = test::simulated_queues(437);
    expect_joined(options);
    EXPECT_TRUE(file_text(output_) == rows) << "in another order";

    options.memory_bytes = input.memory_bytes = least_hash_memory(input).value();
    ASSERT_EQ(plan_hash_geometry(input)->batch_records, 0u);
    expect_joined(options);
  }
}

TEST_F(HashJoinTest, an_input_that_is_a_pipe_is_read_past_the_table_of_the_other) {
  const FormatsOfSides formats{format_of("kv64"), format_of("kv64")};
  for (const std::size_t piped : {0u, 1u}) {
    set_records(formats, 20000, 20000, 30000, 0, 440 + piped);
    FixedJoinOptions options = this->options(formats, JoinKind::left, 2 * kMiB);
    const std::string fifo = directory_ / ("fifo" + std::to_string(piped));
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    std::jthread writer([&] { write_file(fifo, text_of(records_[piped])); });
    options.inputs[piped] = fifo;
    const JoinReport report = expect_joined(options);
    EXPECT_EQ(static_cast<std::size_t>(report.plan.build), 1 - piped);
    EXPECT_FALSE(report.plan.sides[piped].size_known);
  }
}

TEST_F(HashJoinTest, rows_may_go_to_a_stream) {
  const FormatsOfSides formats{format_of("kv32"), format_of("kv32")};
  set_records(formats, 9000, 50000, 10000, 0, 450);
  FixedJoinOptions options = this->options(formats, JoinKind::right);
  const io::File file(open(output_.c_str(), O_RDWR | O_TRUNC | O_CREAT | O_CLOEXEC, 0600), output_,
                      false);
  options.output = "/dev/fd/" + std::to_string(file.fd());
  const JoinReport report = hash_join(options);
  EXPECT_TRUE(
      sorted_rows(file_text(output_), RowLayout(formats, JoinKind::right, "").row_bytes()) ==
      join_by_map(formats, records_, JoinKind::right, report.plan.build, "").rows);
}

TEST_F(HashJoinTest, a_file_may_be_joined_with_itself_and_replaced) {
  const FormatsOfSides formats{format_of("kv64"), format_of("fixed:16", {"8:u64"})};
  set_records(formats, 5000, 0, 2000, 0, 460);
  for (std::size_t i = 0; i < 5000; ++i) {  // values that are keys, too
    std::copy_n(records_[0].data() + (4999 - i) * 16, 8, records_[0].data() + i * 16 + 8);
  }
  records_[1] = records_[0];
  FixedJoinOptions options = this->options(formats, JoinKind::inner);
  options.inputs[1] = options.inputs[0];
  options.output = options.inputs[0];
  const JoinReport report = hash_join(options);
  EXPECT_TRUE(
      sorted_rows(file_text(options.output), RowLayout(formats, JoinKind::inner, "").row_bytes()) ==
      join_by_map(formats, records_, JoinKind::inner, report.plan.build, "").rows);
}

TEST_F(HashJoinTest, rows_consist_of_what_the_layout_says) {
  const FormatsOfSides formats{format_of("gensort"), format_of("fixed:50", {"40:bytes10"})};
  set_records(formats, 3000, 9000, 4000, 0, 470);
  FixedJoinOptions options = this->options(formats, JoinKind::full, 2 * kMiB);
  options.layout = "m,2.0:7,0,1.90:10,2.49:1";
  EXPECT_EQ(expect_joined(options).plan.output_bytes, 29u);
}

TEST_F(HashJoinTest, records_and_rows_may_be_larger_than_blocks) {
  const FormatsOfSides formats{format_of("fixed:30011", {"29990:bytes13"}),
                               format_of("fixed:70001", {"0:bytes13"})};
  set_records(formats, 40, 30, 20, 0, 480);
  for (const JoinKind kind : {JoinKind::full, JoinKind::anti}) {
    FixedJoinOptions options = this->options(formats, kind, 6 * kMiB);
    options.queue_factory = test::simulated_queues(481);
    expect_joined(options);
  }
}

TEST_F(HashJoinTest, a_table_that_does_not_fit_is_told_with_the_memory_that_would_do) {
  const FormatsOfSides formats{format_of("kv64"), format_of("kv64")};
  set_records(formats, 100000, 120000, 100000, 0, 490);
  FixedJoinOptions options = this->options(formats, JoinKind::inner);
  std::string reason;
  EXPECT_FALSE(plan_hash_join(options, reason));
  EXPECT_THROW(hash_join(options), Error);
  options.memory_bytes = advised_memory(reason);
  const auto plan = plan_hash_join(options, reason);
  ASSERT_TRUE(plan) << reason;
  EXPECT_EQ(plan->method, JoinMethod::hash);
  EXPECT_EQ(plan->build, JoinSide::r);
  EXPECT_LE(plan->table_bytes, options.memory_bytes);
  expect_joined(options);
  options.memory_bytes -= kMiB;
  EXPECT_FALSE(plan_hash_join(options, reason));
}

TEST(HashPlan, every_plan_fits_its_memory_and_can_set_aside_any_list_of_rows) {
  for (const std::uint64_t memory : {256 * kKiB, kMiB, 17 * kMiB, 512 * kMiB, 64 * kGiB}) {
    for (const unsigned threads : {1u, 2u, 31u, 200u}) {
      for (const std::size_t record : {4u, 16u, 100u, 70001u, 1u << 24}) {
        for (const std::uint64_t count : {0u, 1u, 10000u, 30000000u}) {
          const std::size_t row = 2 * record;
          const auto geometry = plan_hash_geometry({memory, threads, count, record, record, row});
          if (!geometry) continue;
          EXPECT_LE(geometry->region_bytes, memory);
          EXPECT_GE(geometry->records_bytes, count * record);
          EXPECT_GE(geometry->table_bytes, HashTable::memory_bytes({count, count}));
          EXPECT_GE(geometry->read_block_bytes, record);
          // One list, behind a block that is partly filled, ahead of one that is partly filled.
          EXPECT_GE(geometry->output_bytes,
                    geometry->list_matches * row + 2 * geometry->output_block_bytes);
          EXPECT_GE(geometry->lists, 2u);
        }
      }
    }
  }
  EXPECT_TRUE(plan_hash_geometry({512 * kMiB, 2, 18000000, 16, 16, 24}));
  // Memory need not be whole sectors.
  for (std::uint64_t bytes = 7 * kMiB; bytes < 14 * kMiB; bytes += 10007) {
    const auto geometry = plan_hash_geometry({bytes, 2, 429918, 8, 16, 16, 1447687 * 16});
    if (geometry) {
      EXPECT_LE(geometry->region_bytes, bytes);
    }
  }
  EXPECT_FALSE(plan_hash_geometry({512 * kMiB, 2, 40000000, 16, 16, 24}));
  EXPECT_FALSE(least_hash_memory({512 * kMiB, 2, std::uint64_t{1} << 33, 16, 16, 24}));
}

// ---- faults ----

class HashJoinFaults : public HashJoinTest {
 protected:
  HashJoinFaults() { set_records(formats_, 20000, 200000, 20000, 0, 495); }

  // Joins once for each of some of the transfers of `op`, each of which fails with `error`.
  void expect_errors(io::Op op, int error, ErrorCode code) {
    FixedJoinOptions options = this->options(formats_, JoinKind::full, 2 * kMiB);
    std::uint64_t transfers = 0;
    for (std::uint64_t number = 0; number <= transfers; number += 1 + transfers / 20) {
      const auto seen = std::make_shared<std::atomic<std::uint64_t>>(0);
      options.queue_factory =
          test::simulated_queues(number, [=](const io::Request& request) -> io::Completion {
            if (request.op == op && ++*seen == number) return {error, 0};
            return test::honest_transfer(request);
          });
      SCOPED_TRACE("transfer " + std::to_string(number));
      if (number == 0) {
        expect_joined(options);
        transfers = *seen;
        ASSERT_GT(transfers, 20u);
      } else {
        EXPECT_EQ(error_of_sort(options.output, [&] { hash_join(options); }).code(), code);
      }
      if (HasFailure()) return;
    }
  }

  const FormatsOfSides formats_{format_of("kv64"), format_of("kv64")};
};

TEST_F(HashJoinFaults, any_failing_read_ends_the_join) {
  expect_errors(io::Op::read, EIO, ErrorCode::io);
}

TEST_F(HashJoinFaults, any_failing_write_ends_the_join) {
  expect_errors(io::Op::write, EIO, ErrorCode::io);
}

TEST_F(HashJoinFaults, a_disk_that_fills_up_ends_the_join) {
  expect_errors(io::Op::write, ENOSPC, ErrorCode::no_space);
}

TEST_F(HashJoinFaults, an_input_that_becomes_shorter_ends_the_join_one_that_grows_does_not) {
  for (const std::size_t side : {0u, 1u}) {
    for (const off_t size : {off_t{160}, off_t{8 << 20}}) {
      FixedJoinOptions options = this->options(formats_, JoinKind::inner, 2 * kMiB);
      const std::string path = options.inputs[side];
      const auto changed = std::make_shared<std::atomic<bool>>(false);
      options.queue_factory = test::simulated_queues(7, [=](const io::Request& request) {
        if (request.file->path() == path && !changed->exchange(true)) {
          EXPECT_EQ(truncate(path.c_str(), size), 0);
        }
        return test::honest_transfer(request);
      });
      if (size > 160) {
        EXPECT_NO_THROW(hash_join(options));
        continue;
      }
      const Error error = error_of_sort(options.output, [&] { hash_join(options); });
      EXPECT_EQ(error.code(), ErrorCode::bad_input) << error.what();
      EXPECT_EQ(error.path(), path);
    }
  }
}

TEST_F(HashJoinFaults, a_pipe_that_ends_inside_a_record_is_bad_input) {
  FixedJoinOptions options = this->options(formats_, JoinKind::inner, 2 * kMiB);
  const std::string fifo = directory_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::jthread writer([&] { write_file(fifo, text_of(records_[1]) + "x"); });
  options.inputs[1] = fifo;
  EXPECT_EQ(error_of_sort(options.output, [&] { hash_join(options); }).code(),
            ErrorCode::bad_input);
}

}  // namespace
}  // namespace xxl
