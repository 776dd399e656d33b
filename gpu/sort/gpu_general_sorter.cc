#include "gpu/sort/gpu_general_sorter.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/memory_name.h"
#include "base/units.h"

namespace xxl::gpu {
namespace {

constexpr std::size_t kMinBufferBytes = 32 * kKiB;
constexpr std::size_t kMinBuffers = 3;  // of packs, and of slices
// Packs have room for more records than expected; if there are still more, they leave early.
constexpr double kItemReserve = 1.25;

std::uint64_t first_word(std::string_view key) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(key.data());
  if (key.size() <= kTextWordBytes) return text_word(bytes, key.size());
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return (__builtin_bswap64(word) & ~std::uint64_t{0xff}) | kTextGoesOn;
}

}  // namespace

GeneralStaging GeneralStaging::plan(std::size_t bytes, unsigned threads) {
  // One for each thread, one on its way to or from a device, and one to be taken next.
  std::size_t count = std::max<std::size_t>(threads + 2, kMinBuffers);
  if (bytes / (2 * count) < kMinBufferBytes) {
    count = std::max(bytes / 2 / kMinBufferBytes, kMinBuffers);
  }
  GeneralStaging staging;
  staging.count = count;
  staging.bytes = round_down(bytes / (2 * count), kSectorBytes);
  if (staging.bytes < kSectorBytes) {
    throw Error(ErrorCode::no_space,
                memory_name() + " is too small for transfers to a GPU: give more");
  }
  return staging;
}

double text_entry_bytes(double record_bytes, double key_bytes) {
  // Half a word is lost on average where one is padded.
  const double key = key_bytes > 0 ? key_bytes + 4 : 0;
  return static_cast<double>(kEntryHeaderBytes) + record_bytes + 4 + key;
}

// --- packs ---

class GpuGeneralSorter::EntryPack final : public GeneralSorter::Pack {
 public:
  // `items`: most that fit. Entries have at most `most_bytes`, records `longest`.
  EntryPack(const KeyExtractor& keys, std::span<std::byte> memory, std::size_t items,
            std::size_t most_bytes, std::size_t longest)
      : keys_(keys),
        keys_are_records_(keys.is_whole_record()),
        descending_(keys.is_whole_record() && keys.is_descending()),
        words_(reinterpret_cast<std::uint64_t*>(memory.data())),
        offsets_(words_ + items),
        entries_(reinterpret_cast<std::byte*>(offsets_ + items)),
        most_items_(items),
        most_bytes_(std::min(most_bytes, memory.size() - 2 * items * sizeof(std::uint64_t))),
        longest_(longest) {}

  std::size_t add(std::span<const std::string_view> records) override {
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (!add(records[i])) return i;
    }
    return records.size();
  }
  std::size_t records() const override { return items_; }

  void clear() { items_ = bytes_ = 0; }
  // Offsets become addresses, in device memory from `base` on.
  void place(const std::byte* base) {
    const auto begin = reinterpret_cast<std::uint64_t>(base);
    for (std::size_t i = 0; i < items_; ++i) offsets_[i] += begin;
  }
  const std::byte* words() const { return reinterpret_cast<const std::byte*>(words_); }
  const std::byte* addresses() const { return reinterpret_cast<const std::byte*>(offsets_); }
  const std::byte* entries() const { return entries_; }
  std::size_t bytes() const { return bytes_; }

  unsigned copies = 0;  // to the device, under way

 private:
  bool add(std::string_view record) {
    std::string_view key = record;
    std::size_t bytes = kEntryHeaderBytes + padded(record.size());
    if (!keys_are_records_) {
      key_.clear();
      keys_.append_key(record, KeyExtractor::kWholeKey, key_);
      key = key_;
      bytes += padded(key.size());
    }
    if (items_ == most_items_ || bytes > most_bytes_ - bytes_ || record.size() > longest_) {
      return false;
    }
    std::byte* to = entries_ + bytes_;
    const EntryHeader header{
        keys_are_records_ ? kKeyIsRecord : static_cast<std::uint32_t>(key.size()),
        static_cast<std::uint32_t>(record.size())};
    std::memcpy(to, &header, sizeof header);
    to += sizeof header;
    if (!keys_are_records_) {
      std::memcpy(to, key.data(), key.size());
      to += padded(key.size());
    }
    std::memcpy(to, record.data(), record.size());
    const std::uint64_t word = first_word(key);
    words_[items_] = descending_ ? ~word : word;
    offsets_[items_] = bytes_;
    ++items_;
    bytes_ += bytes;
    return true;
  }

  const KeyExtractor& keys_;
  const bool keys_are_records_;
  const bool descending_;
  std::uint64_t* const words_;
  std::uint64_t* const offsets_;
  std::byte* const entries_;
  const std::size_t most_items_;
  const std::size_t most_bytes_;
  const std::size_t longest_;
  std::size_t items_ = 0;
  std::size_t bytes_ = 0;  // of the entries
  std::string key_;
};

// --- sorter ---

GpuGeneralSorter::GpuGeneralSorter(const GeneralSorterSpec& spec, std::vector<Device*> devices,
                                   const ChunkGeometry& geometry, MultiGpu strategy,
                                   const GeneralStaging& staging, std::span<std::byte> memory,
                                   Mailbox& mailbox, TimeLine* time_line)
    : geometry_(geometry),
      slice_bytes_(staging.bytes),
      engine_(std::move(devices),
              ChunkFormat::of_text(spec.keys->is_whole_record() && spec.keys->is_descending(),
                                   spec.terminator),
              geometry, strategy, mailbox, time_line) {
  XXL_CHECK(geometry.slice_bytes == staging.bytes);
  const double entry = text_entry_bytes(spec.record_bytes, spec.key_bytes);
  const auto expected =
      static_cast<std::size_t>(static_cast<double>(staging.bytes) / (entry + 16) * kItemReserve);
  const std::size_t items = std::clamp<std::size_t>(expected, 1, staging.bytes / 32);
  XXL_CHECK(memory.size() >= 2 * staging.count * staging.bytes);
  for (std::size_t i = 0; i < staging.count; ++i) {
    packs_.push_back(std::make_unique<EntryPack>(
        *spec.keys, memory.subspan(i * staging.bytes, staging.bytes),
        std::min(items, geometry.piece_items), geometry.piece_bytes, geometry.slice_bytes - 1));
    free_packs_.push_back(packs_.back().get());
  }
  memory = memory.subspan(staging.count * staging.bytes);
  for (std::size_t i = 0; i < staging.count; ++i) {
    slices_.push_back(memory.data() + i * slice_bytes_);
    free_slices_.push_back(i);
  }
}

GpuGeneralSorter::~GpuGeneralSorter() = default;

GeneralSorter::Pack* GpuGeneralSorter::take_pack(std::size_t spare) {
  if (free_packs_.size() <= spare) return nullptr;
  EntryPack* const pack = free_packs_.back();
  free_packs_.pop_back();
  pack->clear();
  return pack;
}

void GpuGeneralSorter::drop(Pack* pack) {
  free_packs_.push_back(static_cast<EntryPack*>(pack));
}

bool GpuGeneralSorter::open_piece() {
  if (engine_.chunk_is_full()) seal();
  piece_ = engine_.open_piece();
  if (piece_ == nullptr) return false;
  piece_items_ = piece_bytes_ = 0;
  return true;
}

void GpuGeneralSorter::close_piece() {
  if (piece_ == nullptr) return;
  engine_.close_piece(std::exchange(piece_, nullptr), piece_items_, piece_bytes_);
}

std::optional<std::uint64_t> GpuGeneralSorter::push(Pack* given) {
  auto* const pack = static_cast<EntryPack*>(given);
  const std::size_t items = pack->records(), bytes = pack->bytes();
  XXL_CHECK(items > 0);
  if (piece_ != nullptr && (piece_items_ + items > geometry_.piece_items ||
                            piece_bytes_ + bytes > geometry_.piece_bytes)) {
    close_piece();
  }
  if (piece_ == nullptr && !open_piece()) return std::nullopt;
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  std::byte* const entries = piece_->records + piece_bytes_;
  pack->place(entries);
  const auto copied = [this, pack] {
    if (--pack->copies == 0) free_packs_.push_back(pack);
  };
  const auto copy = [&](std::byte* to, const std::byte* from, std::size_t size) {
    ++pack->copies;
    engine_.copy_in(*piece_, to, from, size, copied);
  };
  copy(piece_->items.keys + piece_items_ * kWord, pack->words(), items * kWord);
  copy(piece_->items.values + piece_items_ * kWord, pack->addresses(), items * kWord);
  copy(entries, pack->entries(), bytes);
  piece_items_ += items;
  piece_bytes_ += bytes;
  chunk_items_ += items;
  return sealed_;
}

void GpuGeneralSorter::seal() {
  close_piece();
  if (chunk_items_ == 0) return;
  engine_.seal();
  ++sealed_;
  records_left_.push_back(chunk_items_);
  chunk_items_ = 0;
}

// Copies slices that are ready to the host, as far as there is room for them.
void GpuGeneralSorter::fetch() {
  while (!free_slices_.empty()) {
    const auto from = engine_.next_slice();
    if (!from) return;
    Coming& coming = *coming_.emplace_back(std::make_unique<Coming>());
    coming.slice.buffer = free_slices_.back();
    free_slices_.pop_back();
    coming.slice.chunk = from->chunk;
    coming.slice.records = from->records;
    std::byte* const to = slices_[coming.slice.buffer];
    coming.slice.text = {reinterpret_cast<const char*>(to), from->bytes};
    XXL_CHECK(from->bytes <= slice_bytes_ && from->records <= records_left_.front());
    records_left_.front() -= from->records;
    if (records_left_.front() == 0) {
      coming.slice.last = true;
      records_left_.pop_front();
    }
    engine_.copy_out(*from, to, [&coming] { coming.there = true; });
  }
}

std::optional<GeneralSorter::SortedSlice> GpuGeneralSorter::next_slice() {
  fetch();
  if (coming_.empty() || !coming_.front()->there) return std::nullopt;
  const SortedSlice slice = coming_.front()->slice;
  coming_.pop_front();
  return slice;
}

void GpuGeneralSorter::release(const SortedSlice& slice) {
  free_slices_.push_back(slice.buffer);
}

}  // namespace xxl::gpu
