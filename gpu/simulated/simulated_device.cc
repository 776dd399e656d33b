#include "gpu/simulated/simulated_device.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "gpu/join/array_join_rows.h"
#include "gpu/join/host_hash.h"
#include "gpu/join/host_match.h"

// What the machine makes of an operation, if it is simulated as a whole (tests/campaign/README.md):
// an errno value. Not there otherwise.
extern "C" [[gnu::weak]] int xxl_machine_device(const char* operation);

namespace xxl::gpu {
namespace {

void ask_machine(const char* operation) {
  const int error = xxl_machine_device(operation);
  if (error == 0) return;
  throw Error(error == ENOMEM ? ErrorCode::no_space : ErrorCode::device,
              std::string("the simulated device failed: ") + operation);
}

constexpr std::size_t kAlignment = 256;

std::uint64_t read(const std::byte* from, unsigned bytes) {
  std::uint64_t value = 0;
  if (bytes != 0) std::memcpy(&value, from, bytes);
  return value;
}

void write(std::byte* to, std::uint64_t value, unsigned bytes) {
  if (bytes != 0) std::memcpy(to, &value, bytes);
}

std::uint64_t key_at(const ItemShape& shape, const Items& items, std::size_t i) {
  return read(items.keys + i * shape.key_bytes, shape.key_bytes);
}

std::uint64_t value_at(const ItemShape& shape, const Items& items, std::size_t i) {
  return read(items.values + i * shape.value_bytes, shape.value_bytes);
}

void set_item(const ItemShape& shape, const Items& items, std::size_t i, std::uint64_t key,
              std::uint64_t value) {
  write(items.keys + i * shape.key_bytes, key, shape.key_bytes);
  write(items.values + i * shape.value_bytes, value, shape.value_bytes);
}

const EntryHeader& header_at(const Items& items, std::size_t i) {
  return *reinterpret_cast<const EntryHeader*>(value_at({8, 8}, items, i));
}

class SimulatedStream final : public Stream {
 public:
  explicit SimulatedStream(const SimulatedOptions& options) : options_(options) {}

  void finish() override {}

  void copy_in(std::byte* device, const std::byte* host, std::size_t bytes) override {
    begin("copy in");
    std::memcpy(device, host, bytes);
  }
  void copy_out(std::byte* host, const std::byte* device, std::size_t bytes) override {
    begin("copy out");
    std::memcpy(host, device, bytes);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    begin("copy");
    std::memcpy(to, from, bytes);
  }

  void load(const RecordShape& shape, const KeyView& view, const std::byte* records,
            const Items& items) override {
    begin("load");
    const unsigned key_bytes = shape.item.key_bytes;
    for (std::size_t i = 0; i < items.count; ++i) {
      const std::byte* record = records + i * shape.record_bytes;
      if (shape.by_address) {
        const auto address = reinterpret_cast<std::uint64_t>(record);
        set_item(shape.item, items, i, view.word(address, 0), address);
        continue;
      }
      std::uint64_t key = read(record, key_bytes);
      if (shape.transform.is_float) key = KeyView::order_float(key, key_bytes);
      write(items.keys + i * key_bytes, key ^ shape.transform.flip, key_bytes);
      if (items.values == nullptr) continue;
      std::memcpy(items.values + i * shape.item.value_bytes, record + key_bytes,
                  shape.item.value_bytes);
    }
  }

  void sort(const ItemShape& shape, const Items& from, const Items& to,
            std::span<std::byte>) override {
    begin("sort");
    std::vector<std::size_t> order(from.count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return key_at(shape, from, a) < key_at(shape, from, b);
    });
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t at = order[i];
      set_item(shape, to, i, key_at(shape, from, at),
               shape.value_bytes == 0 ? 0 : value_at(shape, from, at));
    }
  }

  void refine(const KeyView& view, const Items& items, std::span<std::byte>) override {
    begin("refine");
    constexpr ItemShape kShape{8, 8};
    for (std::size_t first = 0, end; first < items.count; first = end) {
      const std::uint64_t word = key_at(kShape, items, first);
      end = first + 1;
      while (end < items.count && key_at(kShape, items, end) == word) ++end;
      auto* const values = reinterpret_cast<std::uint64_t*>(items.values);
      std::stable_sort(values + first, values + end, [&](std::uint64_t a, std::uint64_t b) {
        return view.compare_rest(word, a, b) < 0;
      });
    }
  }

  // By sorting everything: slow, and simple enough to be right.
  std::vector<std::uint64_t> cut(const ItemShape& shape, const KeyView& view, bool by_address,
                                 std::span<const Items> sequences,
                                 std::span<const std::uint64_t> ranks) override {
    begin("cut");
    struct SequenceItem {
      std::size_t sequence;
      std::size_t item;
    };
    std::vector<SequenceItem> places;
    for (std::size_t s = 0; s < sequences.size(); ++s) {
      for (std::size_t i = 0; i < sequences[s].count; ++i) places.push_back({s, i});
    }
    std::stable_sort(
        places.begin(), places.end(), [&](const SequenceItem& a, const SequenceItem& b) {
          const Items &x = sequences[a.sequence], &y = sequences[b.sequence];
          const std::uint64_t key = key_at(shape, x, a.item), other = key_at(shape, y, b.item);
          if (key != other) return key < other;
          if (!by_address) return false;
          return view.compare_rest(key, value_at(shape, x, a.item), value_at(shape, y, b.item)) < 0;
        });
    std::vector<std::uint64_t> cuts;
    for (const std::uint64_t rank : ranks) {
      std::vector<std::uint64_t> below(sequences.size(), 0);
      for (std::size_t i = 0; i < rank; ++i) ++below[places.at(i).sequence];
      cuts.insert(cuts.end(), below.begin(), below.end());
    }
    return cuts;
  }

  void concatenate(const ItemShape& shape, std::span<const Items> parts, const Items& to) override {
    begin("concatenate");
    std::size_t at = 0;
    for (const Items& part : parts) {
      std::memcpy(to.keys + at * shape.key_bytes, part.keys, part.count * shape.key_bytes);
      if (shape.value_bytes != 0) {
        std::memcpy(to.values + at * shape.value_bytes, part.values,
                    part.count * shape.value_bytes);
      }
      at += part.count;
    }
    XXL_CHECK(at == to.count);
  }

  void store(const RecordShape& shape, const Items& items, std::byte* records) override {
    begin("store");
    for (std::size_t i = 0; i < items.count; ++i) {
      std::byte* const record = records + i * shape.record_bytes;
      if (shape.by_address) {
        std::memcpy(record, reinterpret_cast<const std::byte*>(value_at(shape.item, items, i)),
                    shape.record_bytes);
        continue;
      }
      std::uint64_t key = key_at(shape.item, items, i) ^ shape.transform.flip;
      if (shape.transform.is_float) key = KeyView::restore_float(key, shape.item.key_bytes);
      write(record, key, shape.item.key_bytes);
      if (shape.item.value_bytes != 0) {
        write(record + shape.item.key_bytes, value_at(shape.item, items, i),
              shape.item.value_bytes);
      }
    }
  }

  std::vector<GeneralSlice> slice_text(const Items& items, std::uint64_t most_bytes,
                                       std::uint64_t* offsets, std::span<std::byte>) override {
    begin("slice text");
    offsets[0] = 0;
    std::vector<GeneralSlice> slices;
    for (std::size_t i = 0; i < items.count; ++i) {
      const std::uint64_t bytes = header_at(items, i).record_bytes + std::uint64_t{1};
      if (bytes > most_bytes) throw Error(ErrorCode::no_space, "a record is longer than a slice");
      if (slices.empty() || slices.back().bytes + bytes > most_bytes) slices.push_back({i, 0, 0});
      ++slices.back().count;
      slices.back().bytes += bytes;
      offsets[i + 1] = offsets[i] + bytes;
    }
    return slices;
  }

  void gather_text(const Items& items, const GeneralSlice& slice, const std::uint64_t* offsets,
                   char terminator, std::byte* records) override {
    begin("gather text");
    for (std::size_t i = slice.first; i < slice.first + slice.count; ++i) {
      const EntryHeader& header = header_at(items, i);
      const auto* from = reinterpret_cast<const std::byte*>(&header + 1);
      if (header.key_bytes != kKeyIsRecord) from += padded(header.key_bytes);
      std::byte* const to = records + (offsets[i] - offsets[slice.first]);
      std::memcpy(to, from, header.record_bytes);
      to[header.record_bytes] = static_cast<std::byte>(terminator);
    }
  }

  void match(unsigned key_bytes, const Items& r, const Items& s, MatchRange* ranges,
             TileTotals* totals) override {
    begin("match");
    const ItemShape keys{key_bytes, 0};
    match_sorted(
        r.count, [&](std::size_t i) { return key_at(keys, r, i); }, s.count,
        [&](std::size_t i) { return key_at(keys, s, i); }, ranges, totals);
  }

  void write_matches(const DeviceRows& rows, std::span<const std::uint64_t> tile_rows,
                     std::byte* to) override {
    begin("write matches");
    XXL_CHECK(tile_rows.size() == ceil_div<std::size_t>(rows.r_count, kMatchTile) + 1);
    RecordShape r, s;
    r.record_bytes = rows.r_record_bytes;
    s.record_bytes = rows.s_record_bytes;
    r.item = {rows.key_bytes, rows.r_record_bytes - rows.key_bytes};
    s.item = {rows.key_bytes, rows.s_record_bytes - rows.key_bytes};
    const RowFormat format = RowFormat::of(r, s, rows.wanted, rows.missing);
    MatchedPart part;
    part.part = {0, rows.r_count, 0, rows.s_count};
    part.ranges = rows.ranges;
    write_task_rows({r, rows.r, rows.r_count}, {s, rows.s, rows.s_count}, part, rows.wanted, format,
                    {0, rows.r_count, rows.first_row, rows.rows, 0}, to);
  }

  void clear(std::byte* memory, std::size_t bytes) override {
    begin("clear");
    std::memset(memory, 0, bytes);
  }
  void select(const DeviceHashTable& table, const std::byte* records, std::size_t count,
              std::byte* to, std::size_t most, std::uint64_t* selected) override {
    begin("select");
    for (std::size_t i = 0; i < count; ++i) {
      const std::byte* const record = records + i * table.record_bytes;
      if (!table.is_near(DeviceHashTable::hash(read(record, table.key_bytes)))) continue;
      const std::uint64_t place = (*selected)++;
      if (place < most) {
        std::memcpy(to + place * table.record_bytes, record, table.record_bytes);
      }
    }
  }
  void insert(const DeviceHashTable& table, std::size_t first, std::size_t end,
              std::uint32_t* chains) override {
    begin("insert");
    if (insert_records(table, table.near, first, end)) *chains = 1;
  }
  void probe(const DeviceHashTable& table, const ProbeShape& shape, const std::byte* records,
             std::size_t count, MatchRange* found, TileTotals* totals) override {
    begin("probe");
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t key = read(records + i * shape.record_bytes, table.key_bytes);
      const std::uint64_t hash = DeviceHashTable::hash(key);
      const HashPart& part = table.part_of(hash);
      const std::uint32_t number = table.key_bytes == 4
                                       ? table.find(part, hash, static_cast<std::uint32_t>(key))
                                       : table.find(part, hash, key);
      found[i] = {number, table.chain_length(part, number)};
      TileTotals& sum = totals[i / kMatchTile];
      if (i % kMatchTile == 0) sum = {};
      sum.pairs += found[i].count;
      sum.matched_r += found[i].count != 0;
    }
  }
  void write_rows(const DeviceHashTable& table, const ProbeShape& shape, const std::byte* records,
                  std::size_t count, const MatchRange* found,
                  std::span<const std::uint64_t> tile_rows, std::uint64_t first_row,
                  std::uint64_t rows, std::byte* to) override {
    begin("write rows");
    const std::size_t row_bytes = shape.row_bytes(table.key_bytes);
    const unsigned value_bytes = shape.build_value ? table.key_bytes : 0;
    std::uint64_t row = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (i % kMatchTile == 0) XXL_CHECK(row == tile_rows[i / kMatchTile]);
      const std::byte* const record = records + i * shape.record_bytes;
      const HashPart& part = table.part_of(DeviceHashTable::hash(read(record, table.key_bytes)));
      const bool pairs = shape.wanted.pairs && found[i].count != 0;
      const std::uint64_t end = row + shape.rows(found[i].count);
      for (std::uint32_t number = found[i].first; row < end; ++row) {
        if (row >= first_row && row < first_row + rows) {
          std::byte* const out = to + (row - first_row) * row_bytes;
          std::memcpy(out, record, shape.record_bytes);
          std::uint64_t value = shape.missing;
          if (pairs) {
            const auto at = std::uint64_t{number - 1} * table.record_bytes + table.key_bytes;
            value = read(part.records + at, value_bytes);
          }
          write(out + shape.record_bytes, value, value_bytes);
        }
        if (table.chains && pairs) number = part.next[number - 1];
      }
    }
  }

 private:
  void begin(const char* operation) const {
    if (options_.before) options_.before(operation);
  }
  const SimulatedOptions& options_;
};

}  // namespace

SimulatedDevice::SimulatedDevice(int index, SimulatedOptions options)
    : index_(index), options_(std::move(options)) {
  if (!options_.before && xxl_machine_device != nullptr) options_.before = ask_machine;
}

SimulatedDevice::~SimulatedDevice() {
  XXL_CHECK(allocated_ == 0);
}

DeviceInfo SimulatedDevice::info() const {
  DeviceInfo info;
  info.index = index_;
  info.name = "simulated";
  info.total_bytes = options_.memory_bytes;
  info.free_bytes = options_.memory_bytes - allocated_;
  return info;
}

std::byte* SimulatedDevice::allocate(std::size_t bytes) {
  if (options_.before) options_.before("allocate");
  bytes = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
  if (allocated_ + bytes > options_.memory_bytes) {
    throw Error(ErrorCode::no_space, "the simulated device has no memory left");
  }
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes + kAlignment));
  if (memory == nullptr) throw Error(ErrorCode::no_space, "no memory for a simulated device");
  std::memcpy(memory, &bytes, sizeof bytes);
  allocated_ += bytes;
  return memory + kAlignment;
}

void SimulatedDevice::free(std::byte* memory) {
  std::size_t bytes;
  std::memcpy(&bytes, memory - kAlignment, sizeof bytes);
  allocated_ -= bytes;
  std::free(memory - kAlignment);
}

std::byte* SimulatedDevice::allocate_shared(std::size_t bytes) {
  if (options_.before) options_.before("allocate shared");
  bytes = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
  void* const memory = std::aligned_alloc(kAlignment, bytes);
  if (memory == nullptr) throw Error(ErrorCode::no_space, "no memory to share with devices");
  std::memset(memory, 0, bytes);
  return static_cast<std::byte*>(memory);
}

void SimulatedDevice::free_shared(std::byte* memory) {
  std::free(memory);
}

std::unique_ptr<Stream> SimulatedDevice::make_stream() {
  return std::make_unique<SimulatedStream>(options_);
}

std::size_t SimulatedDevice::sort_scratch_bytes(const ItemShape& shape, std::size_t count) {
  return shape.bytes() * count + kAlignment;
}

std::size_t SimulatedDevice::refine_scratch_bytes(std::size_t count) {
  return 40 * count + kAlignment;
}

bool SimulatedDevice::make_peer(const Device&) {
  return options_.peers;
}

}  // namespace xxl::gpu
