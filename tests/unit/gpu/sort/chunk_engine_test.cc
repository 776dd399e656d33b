// Chunks on simulated devices: their order, and how memory is divided for them.
#include "gpu/sort/chunk_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "gpu/array/gpu_array_test_support.h"
#include "gpu/simulated/simulated_device.h"
#include "watchdog.h"

namespace xxl::gpu {
namespace {

using namespace test;

// Chunks that leave in order while the next ones arrive, as slices of runs do: sends chunks of so
// many records of 16 bytes through an engine with pieces and batches of 100 and slices of 30, and
// compares what comes out.
void expect_chunks_in_order(const std::vector<Device*>& devices, MultiGpu strategy, unsigned chunks,
                            const std::vector<std::size_t>& counts) {
  const xxl::test::Watchdog watchdog;
  const KeyLayout layout(make_format("kv64"));
  const ChunkFormat format = ChunkFormat::of(layout);
  constexpr std::size_t kPieceItems = 100;
  ChunkGeometry geometry;
  geometry.piece_items = geometry.batch_items = kPieceItems;
  geometry.piece_bytes = kPieceItems * 16;
  geometry.slice_bytes = 30 * 16;
  geometry.chunks = chunks;
  geometry.landing_slots = 8;
  geometry.arena_bytes = 40 * geometry.arena_piece_bytes(format);
  std::vector<Bytes> records, sorted;
  for (const std::size_t count : counts) {
    records.push_back(make_records(count, layout, Keys::few, count));
    sorted.emplace_back(records.back().size());
  }
  Mailbox mailbox;
  ChunkEngine engine(devices, format, geometry, strategy, mailbox, nullptr);
  std::size_t feeding = 0, fed = 0, leaving = 0, left = 0, copying = 0;
  while (leaving < records.size() || copying > 0) {
    while (feeding < records.size()) {
      ChunkEngine::DevicePiece* const piece = engine.open_piece();
      if (piece == nullptr) break;
      const std::size_t bytes = std::min(kPieceItems * 16, records[feeding].size() - fed);
      engine.copy_in(*piece, piece->records, records[feeding].data() + fed, bytes, [] {});
      engine.close_piece(piece, bytes / 16, bytes);
      fed += bytes;
      if (fed == records[feeding].size()) {
        engine.seal();
        ++feeding;
        fed = 0;
      }
    }
    while (const auto slice = engine.next_slice()) {
      ASSERT_EQ(slice->chunk, leaving);
      ASSERT_EQ(slice->first * 16, left);
      ++copying;
      engine.copy_out(*slice, sorted[leaving].data() + left, [&copying] { --copying; });
      left += slice->bytes;
      if (left == records[leaving].size()) {
        ++leaving;
        left = 0;
      }
    }
    if (leaving < records.size() || copying > 0) mailbox.wait_and_run();
  }
  EXPECT_TRUE(engine.empty());
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_TRUE(sorted[i] == sorted_copy(records[i], layout)) << "chunk " << i;
  }
}

TEST(ChunkEngine, begins_with_small_batches_where_nothing_else_leaves) {
  for (const unsigned chunks : {1u, 2u}) {
    const xxl::test::Watchdog watchdog;
    const KeyLayout layout(make_format("u64"));
    const ChunkFormat format = ChunkFormat::of(layout);
    ChunkGeometry geometry;
    geometry.piece_items = geometry.batch_items = 160;
    geometry.piece_bytes = geometry.slice_bytes = 160 * 8;
    geometry.chunks = chunks;
    geometry.arena_bytes = 8 * geometry.arena_piece_bytes(format);
    const Bytes records = make_records(320, layout, Keys::uniform, 1);
    const Devices gpus(1, {});
    Mailbox mailbox;
    ChunkEngine engine(gpus.all, format, geometry, MultiGpu::partition, mailbox, nullptr);
    for (const std::size_t first : {0, 160}) {
      ChunkEngine::DevicePiece* const piece = engine.open_piece();
      engine.copy_in(*piece, piece->records, records.data() + first * 8, 160 * 8, [] {});
      engine.close_piece(piece, 160, 160 * 8);
    }
    engine.seal();
    std::vector<std::size_t> sizes;
    for (std::size_t given = 0; given < 320;) {
      mailbox.wait_and_run();
      while (const auto slice = engine.next_slice()) {
        sizes.push_back(slice->records);
        given += slice->records;
        static std::byte out[320 * 8];
        engine.copy_out(*slice, out, [] {});
      }
    }
    EXPECT_EQ(sizes, chunks == 1 ? (std::vector<std::size_t>{10, 20, 40, 80, 160, 10})
                                 : (std::vector<std::size_t>{160, 160}));
  }
}

TEST(ChunkEngine, gives_chunks_out_in_order_slice_by_slice) {
  for (const MultiGpu strategy : kStrategies) {
    for (const std::size_t devices : {1, 3}) {
      const Devices gpus(devices, {});
      expect_chunks_in_order(gpus.all, strategy, 2, {2000, 1, 3000, 50, 50, 50, 2500, 7});
    }
  }
}

// The first chunk's swap is held up until the second chunk, which has nothing to swap, is sorted:
// its slices must not take the slots that the first one needs.
TEST(ChunkEngine, keeps_chunks_in_order_while_devices_swap_halves) {
  std::atomic<int> loads = 0;
  SimulatedOptions first, second;
  first.before = [&loads](const char* operation) {
    const std::string_view name = operation;
    // The third piece of this device is loaded when the engine has been told of the second one,
    // which is the second chunk.
    if (name == "load") {
      ++loads;
      loads.notify_all();
    }
    if (name != "copy") return;
    for (int seen; (seen = loads) < 3;) loads.wait(seen);
  };
  SimulatedDevice one(0, first), two(1, second);
  expect_chunks_in_order({&one, &two}, MultiGpu::p2p_merge, 3, {200, 100, 200});
  EXPECT_EQ(loads, 3);
}

TEST(ChunkEngine, takes_no_more_pieces_than_can_be_cut) {
  Devices gpus(2, {.memory_bytes = 16 * kMiB});
  const KeyLayout layout(make_format("u64"));
  const ChunkFormat format = ChunkFormat::of(layout);
  ChunkGeometry geometry;
  geometry.piece_items = geometry.batch_items = 100;
  geometry.piece_bytes = geometry.slice_bytes = 800;
  geometry.landing_slots = 8;
  geometry.device_pieces = 3;
  geometry.arena_bytes = kMiB;
  EXPECT_LE(geometry.capacity(format, 8), 3 * geometry.piece_bytes);
  Mailbox mailbox;
  ChunkEngine engine(gpus.all, format, geometry, MultiGpu::partition, mailbox, nullptr);
  for (int piece = 0; piece < 6; ++piece) {
    EXPECT_FALSE(engine.chunk_is_full());
    EXPECT_NE(engine.open_piece(), nullptr);
  }
  EXPECT_TRUE(engine.chunk_is_full());
  EXPECT_EQ(engine.open_piece(), nullptr);
}

TEST(ChunkGeometry, holds_what_devices_have_however_small_records_are) {
  SimulatedDevice device(0, {});
  const std::uint64_t memory = 128 * kGiB;
  for (const char* record : {"u32", "kv64", "fixed:3", "gensort"}) {
    const KeyLayout layout(make_format(record));
    const ChunkFormat format = ChunkFormat::of(layout);
    const auto bytes = static_cast<double>(layout.record_bytes());
    for (const std::size_t devices : {1, 8}) {
      const ChunkGeometry geometry = ChunkGeometry::plan(device, devices, format, bytes, memory,
                                                         ~std::uint64_t{0} / 2, 4 * kMiB, 1);
      EXPECT_LE(geometry.memory_bytes(device, format), memory);
      // Items of records by address take 16 bytes each.
      const double share = format.shape.by_address ? bytes / (bytes + 16) : 1;
      EXPECT_GT(static_cast<double>(geometry.capacity(format, bytes)),
                0.8 * share * static_cast<double>(memory))
          << record << " on " << devices;
    }
  }
}

TEST(ChunkGeometry, says_so_where_no_memory_would_do) {
  SimulatedDevice device(0, {});
  const KeyLayout layout(make_format("u64"));
  const ChunkFormat format = ChunkFormat::of(layout);
  try {
    ChunkGeometry::plan(device, 1, format, 8, kGiB, kGiB, std::size_t{1} << 50, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no GPU has enough"), std::string::npos);
  }
}

// The first chunk's piece on the second device is held up until the second chunk, which is on the
// first device alone, is sorted.
TEST(ChunkEngine, keeps_chunks_in_order_when_a_later_one_is_sorted_first) {
  for (const MultiGpu strategy : {MultiGpu::partition, MultiGpu::p2p_merge}) {
    std::atomic<int> loads = 0;
    SimulatedOptions first, second;
    first.before = [&loads](const char* operation) {
      if (std::string_view(operation) != "load") return;
      ++loads;
      loads.notify_all();
    };
    second.before = [&loads](const char* operation) {
      if (std::string_view(operation) != "load") return;
      for (int seen; (seen = loads) < 3;) loads.wait(seen);
    };
    SimulatedDevice one(0, first), two(1, second);
    expect_chunks_in_order({&one, &two}, strategy, 3, {200, 100, 200});
    EXPECT_EQ(loads, 3);
  }
}

}  // namespace
}  // namespace xxl::gpu
