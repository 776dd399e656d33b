#include "run/output_stage.h"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/units.h"
#include "base/workers.h"
#include "record/format_key.h"
#include "sort_test_support.h"
#include "watchdog.h"

namespace xxl {
namespace {

using test::Bytes;
using test::format_of;

// Records that are in order already.
class SortedPiece final : public PieceSorter {
 public:
  SortedPiece(Bytes records, std::size_t record_bytes)
      : records_(std::move(records)), record_bytes_(record_bytes) {}

  void sort(std::span<const Segment>) override {}
  std::size_t size() const override { return records_.size() / record_bytes_; }
  void write(std::size_t first, std::size_t count, std::byte* out) const override {
    ASSERT_LE(first + count, size());
    if (count > 0) std::memcpy(out, records_.data() + first * record_bytes_, count * record_bytes_);
  }
  void set_removed(const MultisetHash& removed) { removed_ = removed; }

 private:
  Bytes records_;
  std::size_t record_bytes_;
};

// Keeps blocks until a test gives their buffers back.
class KeepingSink final : public BlockSink {
 public:
  KeepingSink(std::size_t payload_bytes, io::BufferPool& buffers)
      : payload_bytes_(payload_bytes), buffers_(buffers) {}

  std::size_t payload_bytes() const override { return payload_bytes_; }
  void put(const FinishedBlock& block) override {
    std::lock_guard lock(mutex_);
    if (refuses_) throw Error(ErrorCode::no_space, "no room");
    if (blocks_.size() <= block.index) blocks_.resize(block.index + 1);
    EXPECT_EQ(blocks_[block.index].bytes, 0u);
    blocks_[block.index] = block;
    stream_.resize(std::max(stream_.size(), block.index * payload_bytes_ + block.bytes));
    std::memcpy(stream_.data() + block.index * payload_bytes_, block.buffer, block.bytes);
    kept_.push_back(block.buffer);
  }
  void give_back() {
    std::lock_guard lock(mutex_);
    for (std::byte* buffer : kept_) buffers_.give_back(buffer);
    kept_.clear();
  }

  void refuse() { refuses_ = true; }

  const Bytes& stream() const { return stream_; }
  const std::vector<FinishedBlock>& blocks() const { return blocks_; }

 private:
  std::size_t payload_bytes_;
  io::BufferPool& buffers_;
  std::mutex mutex_;
  bool refuses_ = false;
  std::vector<FinishedBlock> blocks_;
  std::vector<std::byte*> kept_;
  Bytes stream_;
};

class OutputStageTest : public testing::Test {
 protected:
  void make(const RecordFormat& format, std::size_t payload_bytes, std::size_t buffers,
            const OutputRules& rules = {}) {
    format_ = format;
    layout_ = std::make_unique<KeyLayout>(format);
    const std::size_t buffer_bytes = round_up(payload_bytes, kSectorBytes);
    memory_.resize(buffers * buffer_bytes);
    pool_ = std::make_unique<io::BufferPool>(memory_, buffer_bytes);
    sink_ = std::make_unique<KeepingSink>(payload_bytes, *pool_);
    stage_ = std::make_unique<OutputStage>(*layout_, rules, *pool_, *sink_, mailbox_);
  }

  // Emits `records` as one piece on this thread.
  void emit(const Bytes& records) {
    const std::size_t bytes = records.size() / layout_->record_bytes() * stage_->record_bytes();
    const auto place = stage_->admit(bytes);
    ASSERT_TRUE(place);
    stage_->emit(*place, SortedPiece(records, format_.record_bytes));
  }
  // Emits u32 keys, each piece a list, and folds them.
  std::vector<std::uint32_t> fold(const std::vector<std::vector<std::uint32_t>>& pieces,
                                  std::uint64_t limit = OutputRules::kNoLimit,
                                  std::uint64_t skip = 0);
  void finish() { stage_->finish(); }

  test::Watchdog watchdog_;
  RecordFormat format_;
  std::unique_ptr<KeyLayout> layout_;
  Bytes memory_;
  Mailbox mailbox_;
  std::unique_ptr<io::BufferPool> pool_;
  std::unique_ptr<KeepingSink> sink_;
  std::unique_ptr<OutputStage> stage_;
  Random random_{41};
};

TEST_F(OutputStageTest, pieces_become_a_stream_of_full_blocks) {
  make(format_of("fixed:7"), 100, 50);  // records lie across blocks
  Bytes all;
  for (const std::size_t count : {1u, 14u, 0u, 100u, 3u, 2u}) {
    const Bytes piece = test::random_records(format_, count, random_);
    emit(piece);
    all.insert(all.end(), piece.begin(), piece.end());
  }
  finish();
  EXPECT_EQ(sink_->stream(), all);
  EXPECT_EQ(stage_->records(), all.size() / 7);
  EXPECT_EQ(stage_->hash(), test::hash_of(all, 7));
  const auto& blocks = sink_->blocks();
  for (std::size_t i = 0; i + 1 < blocks.size(); ++i) EXPECT_EQ(blocks[i].bytes, 100u);
  EXPECT_EQ(blocks.back().bytes, all.size() % 100);
  sink_->give_back();
  EXPECT_EQ(pool_->available(), pool_->count());
}

TEST_F(OutputStageTest, a_record_may_be_longer_than_a_block) {
  make(format_of("fixed:1000"), 64, 400);
  const Bytes records = test::random_records(format_, 20, random_);
  emit(records);
  finish();
  EXPECT_EQ(sink_->stream(), records);
  EXPECT_EQ(stage_->hash(), test::hash_of(records, 1000));
}

TEST_F(OutputStageTest, nothing_emitted_is_no_block) {
  make(format_of("u64"), 64, 2);
  finish();
  EXPECT_TRUE(sink_->blocks().empty());
  EXPECT_EQ(stage_->records(), 0u);
}

TEST_F(OutputStageTest, a_piece_is_admitted_when_there_are_buffers_for_all_of_it) {
  make(format_of("u64"), 64, 3);
  EXPECT_FALSE(stage_->admit(4 * 64));
  const Bytes half = test::random_records(format_, 4, random_);
  emit(half);
  const auto rest = stage_->admit(2 * 64 + 32);  // the rest of the open block counts
  ASSERT_TRUE(rest);
  EXPECT_FALSE(stage_->admit(8));
  stage_->emit(*rest, SortedPiece(test::random_records(format_, 20, random_), 8));
  EXPECT_FALSE(stage_->admit(8));  // the sink has every buffer
  sink_->give_back();
  emit(test::random_records(format_, 1, random_));
  finish();
}

TEST_F(OutputStageTest, workers_emit_in_any_order_and_the_stream_is_in_order_of_admission) {
  make(format_of("fixed:12"), 1000, 100);
  Workers workers(3);
  Bytes all;
  std::size_t running = 0;
  for (int i = 0; i < 400; ++i) {
    const auto piece = std::make_shared<SortedPiece>(
        test::random_records(format_, random_.below(300), random_), 12);
    Bytes content(piece->size() * 12);
    piece->write(0, piece->size(), content.data());
    all.insert(all.end(), content.begin(), content.end());
    std::optional<OutputStage::Admission> place;
    while (!(place = stage_->admit(content.size()))) {
      mailbox_.wait_and_run();
      sink_->give_back();
    }
    ++running;
    workers.run([this, piece, place, &running](unsigned) {
      stage_->emit(*place, *piece);
      mailbox_.post([&running] { --running; });
    });
  }
  while (running > 0) mailbox_.wait_and_run();
  finish();
  EXPECT_EQ(sink_->stream(), all);
  EXPECT_EQ(stage_->hash(), test::hash_of(all, 12));
}

TEST_F(OutputStageTest, pieces_in_any_order_go_to_their_places_in_parts) {
  constexpr std::size_t kRecords = 1000, kRecordBytes = 12, kPayload = 512;
  for (const std::uint64_t part_bytes : {100u, 1200u, 3000u, 100000u}) {
    OutputParts parts({.part_bytes = part_bytes}, 64);
    make(format_of("fixed:12"), kPayload, 200, {.parts = &parts, .any_order = kRecords});
    const Bytes records = test::random_records(format_, kRecords, random_);
    std::vector<std::size_t> firsts;
    for (std::size_t first = 0; first < kRecords; first += 50) firsts.push_back(first);
    std::shuffle(firsts.begin(), firsts.end(), random_);
    for (const std::size_t first : firsts) {
      const auto begin = records.begin() + static_cast<std::ptrdiff_t>(first * kRecordBytes);
      const Bytes piece(begin, begin + 50 * kRecordBytes);
      const auto place = stage_->admit(piece.size(), first);
      ASSERT_TRUE(place);
      stage_->emit(*place, SortedPiece(piece, kRecordBytes));
    }
    finish();
    EXPECT_EQ(stage_->records(), kRecords);
    EXPECT_EQ(stage_->hash(), test::hash_of(records, kRecordBytes));
    Bytes all;
    for (const OutputPart& part : parts.parts()) {
      EXPECT_EQ(part.start % kPayload, 0u);
      const auto begin = sink_->stream().begin() + static_cast<std::ptrdiff_t>(part.start);
      all.insert(all.end(), begin, begin + static_cast<std::ptrdiff_t>(part.bytes));
    }
    EXPECT_EQ(all, records);
    sink_->give_back();
    EXPECT_EQ(pool_->available(), pool_->count());
  }
}

TEST_F(OutputStageTest, a_part_holds_the_records_of_one_key_whatever_the_pieces) {
  constexpr std::size_t kRecordBytes = 12;
  const RecordFormat format = format_of("fixed:12", {"0:u8"});
  for (const std::uint64_t limit : {OutputRules::kNoLimit, std::uint64_t{0}, std::uint64_t{777}}) {
    OutputParts parts({.key = std::make_shared<FormatKey>(format)}, 1);
    make(format, 512, 200, {.skip = 100, .limit = limit, .parts = &parts});
    const Bytes records = test::sorted_records(format, test::random_records(format, 3000, random_));
    for (std::size_t first = 0, count; first < 3000; first += count) {
      count = std::min<std::size_t>(3000 - first, random_.below(200));
      const auto begin = records.begin() + static_cast<std::ptrdiff_t>(first * kRecordBytes);
      emit(Bytes(begin, begin + static_cast<std::ptrdiff_t>(count * kRecordBytes)));
    }
    finish();
    const std::size_t written = std::min<std::uint64_t>(limit, 2900);
    EXPECT_EQ(stage_->records(), written);
    Bytes all;
    int last = -1;
    for (const OutputPart& part : parts.parts()) {
      const auto begin = sink_->stream().begin() + static_cast<std::ptrdiff_t>(part.start);
      const Bytes content(begin, begin + static_cast<std::ptrdiff_t>(part.bytes));
      for (std::size_t at = 0; at < content.size(); at += kRecordBytes) {
        EXPECT_EQ(content[at], content.front());
      }
      EXPECT_EQ(part.records, part.bytes / kRecordBytes);
      if (content.empty()) continue;
      EXPECT_GT(static_cast<int>(content.front()), last);
      last = static_cast<int>(content.front());
      all.insert(all.end(), content.begin(), content.end());
    }
    const auto from = records.begin() + 100 * kRecordBytes;
    EXPECT_EQ(all, Bytes(from, from + static_cast<std::ptrdiff_t>(written * kRecordBytes)));
    sink_->give_back();
    EXPECT_EQ(pool_->available(), pool_->count());
  }
}

TEST_F(OutputStageTest, what_a_sink_refuses_comes_out_of_the_mailbox) {
  make(format_of("u64"), 64, 10);
  sink_->refuse();
  emit(test::random_records(format_, 10, random_));
  EXPECT_THROW(mailbox_.wait_and_run(), Error);
}

TEST_F(OutputStageTest, unique_leaves_out_a_key_that_the_piece_before_ended_with) {
  make(format_of("kv32"), 64, 100, {.unique = true});
  const auto record = [](std::uint32_t key, std::uint32_t value) {
    Bytes bytes(8);
    std::memcpy(bytes.data(), &key, 4);
    std::memcpy(bytes.data() + 4, &value, 4);
    return bytes;
  };
  const auto join = [](std::initializer_list<Bytes> parts) {
    Bytes all;
    for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  emit(join({record(1, 10), record(2, 20)}));
  emit(Bytes{});
  emit(record(2, 21));  // nothing is left of it
  emit(record(2, 22));
  emit(join({record(2, 23), record(3, 30)}));
  finish();
  EXPECT_EQ(sink_->stream(), join({record(1, 10), record(2, 20), record(3, 30)}));
  EXPECT_EQ(stage_->records(), 3u);
  EXPECT_EQ(stage_->removed(),
            test::hash_of(join({record(2, 21), record(2, 22), record(2, 23)}), 8));
  sink_->give_back();
  EXPECT_EQ(pool_->available(), pool_->count());
}

TEST_F(OutputStageTest, what_is_skipped_is_accounted_for_and_lies_in_any_number_of_pieces) {
  const std::uint64_t no_limit = OutputRules::kNoLimit;
  for (const bool unique : {false, true}) {  // pieces whose part is foreseen, and others
    for (const std::uint64_t skip : {0u, 1u, 99u, 100u, 101u, 250u, 300u, 301u}) {
      for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{120}, no_limit}) {
        make(format_of("fixed:70"), 1000, 100, {.unique = unique, .skip = skip, .limit = limit});
        Bytes all;
        for (int piece = 0; piece < 3; ++piece) {
          const Bytes records = test::random_records(format_, 100, random_);
          emit(records);
          all.insert(all.end(), records.begin(), records.end());
        }
        finish();
        const std::size_t first = std::min<std::size_t>(skip, 300);
        const std::size_t count = std::min<std::size_t>(limit, 300 - first);
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first * 70);
        EXPECT_EQ(sink_->stream(), Bytes(begin, begin + static_cast<std::ptrdiff_t>(count * 70)));
        EXPECT_EQ(stage_->removed(), test::hash_of(Bytes(all.begin(), begin), 70));
        sink_->give_back();
        EXPECT_EQ(pool_->available(), pool_->count());
      }
    }
  }
}

// What is written, as key, count (low, high), key, ...
std::vector<std::uint32_t> OutputStageTest::fold(
    const std::vector<std::vector<std::uint32_t>>& pieces, std::uint64_t limit,
    std::uint64_t skip) {
  OutputRules rules;
  rules.fold.emplace();
  rules.fold->fold.count = true;
  rules.fold->format = format_of("u32");
  rules.skip = skip;
  rules.limit = limit;
  make(format_of("u32"), 20, 100, rules);  // records of 12 bytes lie across blocks
  std::uint64_t records = 0;
  for (const auto& piece : pieces) {
    records += piece.size();
    const auto bytes = std::as_bytes(std::span(piece));
    emit({bytes.begin(), bytes.end()});
  }
  finish();
  const Bytes stream = sink_->stream();
  std::vector<std::uint32_t> written(stream.size() / 4);
  std::memcpy(written.data(), stream.data(), stream.size());
  EXPECT_EQ(stage_->removed().records, records - stage_->records());
  if (limit == OutputRules::kNoLimit) {
    EXPECT_EQ(stage_->records_folded(), records);
  }
  sink_->give_back();
  EXPECT_EQ(pool_->available(), pool_->count());
  return written;
}

TEST_F(OutputStageTest, groups_go_on_from_piece_to_piece) {
  using Words = std::vector<std::uint32_t>;
  EXPECT_EQ(fold({}), Words{});
  EXPECT_EQ(fold({{}, {5}, {}}), (Words{5, 1, 0}));
  EXPECT_EQ(fold({{1, 1, 2}, {2}, {}, {2, 2}, {2, 3}, {4}}),
            (Words{1, 2, 0, 2, 5, 0, 3, 1, 0, 4, 1, 0}));
  EXPECT_EQ(fold({{1, 2, 3}, {3, 4, 5}, {6, 7}}),
            (Words{1, 1, 0, 2, 1, 0, 3, 2, 0, 4, 1, 0, 5, 1, 0, 6, 1, 0, 7, 1, 0}));
  EXPECT_EQ(fold({{1, 1, 2}, {2, 2, 3}, {3}}, 2), (Words{1, 2, 0, 2, 3, 0}));
  EXPECT_EQ(fold({{1, 1, 2}}, 2), (Words{1, 2, 0, 2, 1, 0}));
  EXPECT_EQ(fold({{1, 1, 2}, {2, 2, 3}, {3, 4}}, 1, 2), (Words{3, 2, 0}));
  EXPECT_EQ(fold({{1, 1, 2}, {2}}, OutputRules::kNoLimit, 1), (Words{2, 2, 0}));
  EXPECT_EQ(fold({{1}, {2}}, OutputRules::kNoLimit, 5), Words{});
}

TEST_F(OutputStageTest, random_groups_are_folded_as_one_piece_would_be) {
  for (int round = 0; round < 100; ++round) {
    std::vector<std::uint32_t> keys(random_.below(40)), expected;
    const std::uint32_t distinct = 1 + static_cast<std::uint32_t>(random_.below(12));
    for (auto& key : keys) key = static_cast<std::uint32_t>(random_.below(distinct));
    std::sort(keys.begin(), keys.end());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i == 0 || keys[i] != keys[i - 1]) expected.insert(expected.end(), {keys[i], 0, 0});
      ++expected[expected.size() - 2];
    }
    std::vector<std::vector<std::uint32_t>> pieces(1);
    for (const std::uint32_t key : keys) {
      if (random_.below(3) == 0) pieces.emplace_back();
      pieces.back().push_back(key);
    }
    EXPECT_EQ(fold(pieces), expected);
  }
}

TEST_F(OutputStageTest, unique_accounts_for_what_the_sorters_removed) {
  make(format_of("u32"), 64, 10, {.unique = true});
  SortedPiece piece(test::random_records(format_, 3, random_), 4);
  const MultisetHash removed = test::hash_of(test::random_records(format_, 5, random_), 4);
  piece.set_removed(removed);
  const auto place = stage_->admit(8 * 4);  // of 8 records, 3 are left
  ASSERT_TRUE(place);
  stage_->emit(*place, piece);
  finish();
  EXPECT_EQ(stage_->removed(), removed);
  EXPECT_EQ(stage_->records(), 3u);
}

}  // namespace
}  // namespace xxl
