#include "merge/spread_merger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/memory_region.h"
#include "base/random.h"
#include "merge/cell_emitter.h"
#include "resident_records.h"
#include "sort_test_support.h"
#include "watchdog.h"

namespace xxl {
namespace {

using test::Records;
using test::ResidentRecords;
using test::WholeLine;

constexpr std::size_t kBlockBytes = 4 * kKiB;

// Keeps the whole stream; each block must come once.
class KeptStream final : public ByteSink {
 public:
  bool in_order() const override { return false; }
  void put(std::uint64_t index, std::byte* buffer, std::size_t bytes, Done done) override {
    {
      std::lock_guard lock(mutex_);
      const std::size_t at = index * kBlockBytes;
      stream_.resize(std::max(stream_.size(), at + bytes));
      EXPECT_EQ(std::count(stream_.begin() + static_cast<std::ptrdiff_t>(at),
                           stream_.begin() + static_cast<std::ptrdiff_t>(at + bytes), '\0'),
                static_cast<std::ptrdiff_t>(bytes))
          << "written twice";
      std::memcpy(stream_.data() + at, buffer, bytes);
    }
    done(nullptr);
  }
  std::string of(const OutputPart& part) const {
    return part.bytes == 0 ? "" : stream_.substr(part.start, part.bytes);
  }

 private:
  std::mutex mutex_;
  std::string stream_;
};

class SpreadMergerTest : public testing::TestWithParam<unsigned> {
 protected:
  void make_runs(std::size_t longest, Random& random) {
    runs_.clear();
    sorted_.clear();
    const std::size_t count = 1 + random.below(6);
    for (std::size_t run = 0; run < count; ++run) {
      Records records(random.below(400));
      for (std::string& record : records) {
        record.resize(1 + random.below(random.below(50) == 0 ? longest : 30));
        for (char& c : record) c = static_cast<char>('a' + random.below(3));
      }
      sorted_.insert(sorted_.end(), records.begin(), records.end());
      runs_.push_back(std::make_unique<ResidentRecords>(std::move(records)));
    }
    std::sort(sorted_.begin(), sorted_.end());
  }
  std::vector<MergeSource> sources() const {
    std::vector<MergeSource> sources;
    for (const auto& run : runs_) sources.push_back(run->source());
    return sources;
  }
  std::uint64_t bytes() const {
    std::uint64_t bytes = 0;
    for (const std::string& record : sorted_) bytes += record.size() + 1;
    return bytes;
  }
  // The parts of a merge that writes one record after the other.
  std::vector<std::string> expected_parts(const PartRules& rules, const std::string& header) const {
    OutputParts parts(rules, kSectorBytes);
    parts.expect(bytes());
    parts.add_header(header.size());
    std::vector<std::string> texts{header};
    for (const std::string& record : sorted_) {
      if (parts.must_cut_before(record, record.size() + 1)) {
        parts.cut();
        parts.add_header(header.size());
        texts.push_back(header);
      }
      parts.add(record.size() + 1);
      texts.back() += record + '\n';
    }
    for (; parts.lacks_parts(); parts.cut()) texts.push_back(header);
    return texts;
  }
  void merge(const PartRules& rules, const std::string& header, std::size_t items, Random& random) {
    OutputParts parts(rules, kSectorBytes);
    parts.expect(bytes());
    KeptStream sink;
    Workers workers(GetParam());
    const std::size_t streams = 1 + random.below(4);
    // No more buffers than are promised to suffice.
    const std::size_t blocks = 2 * GetParam() + 4 + 2 * streams;
    const MemoryRegion memory(blocks * kBlockBytes);
    WriteBuffers buffers(memory.span(), monitor_);
    GeneralOutput output(sink, buffers, kBlockBytes, monitor_, &parts);
    if (!header.empty()) {
      output.write_header(Ticket{0}, header.substr(0, header.size() - 1), RecordSyntax());
    }
    std::vector<std::vector<StringItem>> of_workers(std::size_t{2} * GetParam(),
                                                    std::vector<StringItem>(items));
    std::vector<CellWorkspace> workspaces;
    for (std::size_t i = 0; i < of_workers.size(); i += 2) {
      workspaces.push_back({of_workers[i], of_workers[i + 1], {}});
    }
    SpreadMerger merger(sources(), {&keys_, nullptr}, 500 + random.below(5000), 1, workspaces,
                        workers, monitor_);
    merger.lay_out(parts, output);
    const GeneralMergeOptions options;
    CellEmitter emitter(options, output, merger.places(), monitor_);
    std::uint64_t progress = 0;
    merger.run(emitter, streams, [&](std::uint64_t more) { progress += more; });
    output.finish();
    monitor_.check();
    EXPECT_EQ(progress, bytes());
    EXPECT_EQ(emitter.totals().records_out, sorted_.size());
    const std::vector<std::string> expected = expected_parts(rules, header);
    const std::vector<OutputPart> all = parts.parts();
    ASSERT_EQ(all.size(), expected.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(sink.of(all[i]), expected[i]);
      ASSERT_EQ(all[i].records, std::count(expected[i].begin(), expected[i].end(), '\n') -
                                    (header.empty() ? 0 : 1));
      if (all[i].records == 0) continue;
      ASSERT_EQ(all[i].header_bytes, header.size());
      ASSERT_EQ(all[i].first_bytes, expected[i].find('\n', header.size()) + 1 - header.size());
      ASSERT_EQ(all[i].bytes - all[i].last_bytes,
                expected[i].rfind('\n', expected[i].size() - 2) + 1);  // (npos + 1 is 0)
    }
  }

  test::Watchdog watchdog_;
  const WholeLine keys_{};
  std::vector<std::unique_ptr<ResidentRecords>> runs_;
  Records sorted_;
  Monitor monitor_;
};

INSTANTIATE_TEST_SUITE_P(Threads, SpreadMergerTest, testing::Values(1u, 2u, 5u));

TEST_P(SpreadMergerTest, gives_the_parts_of_a_merge_of_one_record_after_the_other) {
  Random random(GetParam());
  for (int round = 0; round < 200; ++round) {
    make_runs(random.below(2) == 0 ? 40 : 20000, random);
    PartRules rules;
    if (random.below(2) == 0) {
      rules.parts = 1 + random.below(10);
    } else {
      rules.part_bytes = 100 + random.below(bytes() + 1);
    }
    // Few items: cells with more records are not sorted, but merged.
    const std::size_t items = random.below(3) == 0 ? 20 : 3000;
    merge(rules, random.below(2) == 0 ? "" : "header\n", items, random);
  }
}

TEST_P(SpreadMergerTest, passes_a_failure_on) {
  Random random(7);
  do {
    make_runs(40, random);
  } while (sorted_.empty());
  class Failing final : public CellWork {
   public:
    bool marks_same() const override { return false; }
    bool take(std::size_t, std::span<const CellRecords>, const Sort&) override {
      throw Error(ErrorCode::io, "broken");
    }
    bool stream(std::size_t, std::span<RecordMerge>) override { return true; }
    void skip(std::size_t) override {}
  };
  OutputParts parts({.parts = 3}, kSectorBytes);
  parts.expect(bytes());
  KeptStream sink;
  const MemoryRegion memory(64 * kBlockBytes);
  WriteBuffers buffers(memory.span(), monitor_);
  GeneralOutput output(sink, buffers, kBlockBytes, monitor_, &parts);
  std::vector<StringItem> items(3000), scratch(3000);
  Workers workers(1);
  SpreadMerger merger(sources(), {&keys_, nullptr}, 500, 1, {{items, scratch, {}}}, workers,
                      monitor_);
  merger.lay_out(parts, output);
  Failing work;
  EXPECT_THROW(merger.run(work, 2, [](std::uint64_t) {}), Error);
}

}  // namespace
}  // namespace xxl
