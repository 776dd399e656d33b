#include "run/output_stage.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string_view>

#include "base/error.h"
#include "base/partition_index.h"
#include "base/units.h"
#include "run/folded_piece.h"

namespace xxl {
namespace {

constexpr std::size_t kPassedBytes = 64 * kKiB;  // of records that are left out, at once

}  // namespace

OutputStage::OutputStage(const KeyLayout& layout, const OutputRules& rules, io::BufferPool& buffers,
                         BlockSink& sink, Mailbox& mailbox)
    : layout_(layout),
      buffers_(buffers),
      sink_(sink),
      mailbox_(mailbox),
      rules_(rules),
      record_bytes_(rules.fold ? rules.fold->bytes_out() : layout.record_bytes()),
      payload_bytes_(sink.payload_bytes()),
      skip_left_(rules.skip) {
  XXL_CHECK(payload_bytes_ <= buffers.buffer_bytes());
  XXL_CHECK(!has_key_of_parts() || rules.parts->alignment() == 1);
  if (rules.any_order > 0) {
    XXL_CHECK(rules.parts != nullptr && is_foreseen() && rules.skip == 0);
    places_ = rules.parts->cut_all(rules.any_order, record_bytes_, payload_bytes_);
  }
  if (!rules_.fold) return;
  XXL_CHECK(layout.record_bytes() == rules_.fold->bytes_in());
  open_.emplace(*rules_.fold);
}

OutputStage::~OutputStage() = default;

std::optional<OutputStage::Admission> OutputStage::admit(std::size_t bytes, std::uint64_t first) {
  if (!places_.empty()) return admit_anywhere(bytes, first);
  Admission place;
  place.record_bytes = bytes;
  bytes += most_gap_bytes(bytes);
  if (rules_.fold) bytes += most_gap_bytes(record_bytes_);  // of the last group, which may stay
  place.admitted = bytes;
  std::lock_guard lock(mutex_);
  const std::size_t room = round_up<std::uint64_t>(end_, payload_bytes_) - end_;
  const std::size_t wanted = admitted_ + bytes;
  if (!set_aside(wanted <= room ? 0 : ceil_div(wanted - room, payload_bytes_))) {
    return std::nullopt;
  }
  admitted_ += bytes;
  place.ticket = next_ticket_++;
  if (is_foreseen()) {
    place.skipped = take_skipped(place.record_bytes / record_bytes_);
    place.spans = reserve_locked(bytes, place.record_bytes - place.skipped * record_bytes_);
  }
  return place;
}

// Blocks of a part are opened as its pieces come: only the last one may lie in another piece, too.
std::optional<OutputStage::Admission> OutputStage::admit_anywhere(std::size_t bytes,
                                                                  std::uint64_t first) {
  struct Stretch {
    std::uint64_t at;
    std::size_t bytes;
    std::uint64_t end;  // of the part
  };
  std::vector<Stretch> stretches;
  std::uint64_t records = bytes / record_bytes_;
  auto part = std::prev(std::upper_bound(
      places_.begin(), places_.end(), first,
      [](std::uint64_t record, const auto& each) { return record < each.first_record; }));
  std::lock_guard lock(mutex_);
  std::size_t new_blocks = 0;
  for (; records > 0; ++part) {
    XXL_CHECK(part != places_.end());
    const std::uint64_t before = first - part->first_record;
    const std::uint64_t count = std::min(records, part->records - before);
    const std::uint64_t at = part->start + before * record_bytes_;
    const auto here = static_cast<std::size_t>(count * record_bytes_);
    stretches.push_back({at, here, part->start + part->records * record_bytes_});
    for (std::uint64_t index = at / payload_bytes_; index * payload_bytes_ < at + here; ++index) {
      if (!open_blocks_.contains(index)) ++new_blocks;
    }
    first += count;
    records -= count;
  }
  if (!set_aside(new_blocks)) return std::nullopt;
  Admission place;
  place.record_bytes = bytes;
  bytes_ += bytes;
  for (const Stretch& each : stretches) {
    append_spans(each.at, each.bytes, each.end, false, place.spans);
  }
  return place;
}

// With the lock: as many buffers in ready_.
bool OutputStage::set_aside(std::size_t blocks) {
  if (blocks > ready_.size() + buffers_.available()) return false;
  while (ready_.size() < blocks) ready_.push_back(buffers_.take());
  return true;
}

// Within a turn: for the next `records`, of which the first `skipped` are left out.
std::vector<OutputStage::Span> OutputStage::reserve_in_turn(std::size_t admitted,
                                                            std::size_t records,
                                                            std::size_t& skipped) {
  std::lock_guard lock(mutex_);
  skipped = take_skipped(records);
  const std::uint64_t count =
      std::min<std::uint64_t>(records - skipped, rules_.limit - bytes_ / record_bytes_);
  return reserve_locked(admitted, static_cast<std::size_t>(count) * record_bytes_);
}

std::vector<OutputStage::Span> OutputStage::reserve_locked(std::size_t admitted,
                                                           std::size_t bytes) {
  XXL_CHECK(bytes <= admitted && admitted <= admitted_);
  admitted_ -= admitted;
  bytes_ += bytes;
  std::vector<Span> spans;
  if (rules_.parts == nullptr) {
    append_spans(bytes, false, spans);
    return spans;
  }
  OutputParts& parts = *rules_.parts;
  while (bytes > 0) {
    const std::uint64_t records =
        std::min<std::uint64_t>(parts.room(record_bytes_), bytes / record_bytes_);
    if (records == 0) {
      append_spans(parts.cut(), true, spans);
      continue;
    }
    const auto taken = static_cast<std::size_t>(records) * record_bytes_;
    parts.note(parts.present(), parts.end(), {records, record_bytes_, record_bytes_});
    parts.add(taken);
    append_spans(taken, false, spans);
    bytes -= taken;
  }
  return spans;
}

// What follows in the stream.
void OutputStage::append_spans(std::size_t bytes, bool is_gap, std::vector<Span>& spans) {
  append_spans(end_, bytes, ~std::uint64_t{0}, is_gap, spans);
  end_ += bytes;
}

// The stream from `at` on. `end`: where a block ends at the latest.
void OutputStage::append_spans(std::uint64_t at, std::size_t bytes, std::uint64_t end, bool is_gap,
                               std::vector<Span>& spans) {
  while (bytes > 0) {
    const std::uint64_t index = at / payload_bytes_;
    const std::uint64_t start = index * payload_bytes_;
    OpenBlock& open = open_blocks_[index];
    if (open.block == nullptr) {
      XXL_CHECK(!ready_.empty());
      const std::uint64_t size = std::min<std::uint64_t>(payload_bytes_, end - start);
      open.block = std::make_shared<OutputBlock>(ready_.back(), index, size);
      ready_.pop_back();
    }
    const std::shared_ptr<OutputBlock> block = open.block;
    const std::size_t part = std::min<std::size_t>(bytes, start + block->bytes - at);
    spans.push_back({block, block->buffer + (at - start), part, is_gap});
    bytes -= part;
    at += part;
    open.reserved += part;
    if (open.reserved == block->bytes) open_blocks_.erase(index);
  }
}

// Of records of `bytes` in all, anywhere in the stream.
std::size_t OutputStage::most_gap_bytes(std::size_t bytes) const {
  if (rules_.parts == nullptr) return 0;
  return static_cast<std::size_t>(rules_.parts->most_cuts(bytes, record_bytes_)) *
         (rules_.parts->alignment() - 1);
}

// Within its turn: number of records at the start of the piece (0 or 1) whose key has been written.
std::size_t OutputStage::skip_duplicate(const RecordSource& source) {
  if (!rules_.unique || source.size() == 0) return 0;
  const std::size_t record_bytes = layout_.record_bytes();
  std::vector<std::byte> record(record_bytes);
  source.write(0, 1, record.data());
  const bool duplicate = !last_.empty() && layout_.compare(last_.data(), record.data()) == 0;
  {
    std::lock_guard lock(mutex_);
    removed_ += source.removed();
    if (duplicate) add_records(removed_, record.data(), 1, record_bytes);
  }
  last_.resize(record_bytes);
  source.write(source.size() - 1, 1, last_.data());
  return duplicate ? 1 : 0;
}

void OutputStage::write(Admission& place, const RecordSource& source) {
  if (is_foreseen()) {
    XXL_CHECK(source.size() * record_bytes_ == place.record_bytes);
    pass_over(source, 0, place.skipped);
    return fill(place.spans, source, place.skipped);
  }
  rules_.fold ? write_folds(place, source) : write_in_turn(place, source);
}

void OutputStage::write_in_turn(Admission& place, const RecordSource& source) {
  turns_.wait_for(*place.ticket);
  const std::size_t first = skip_duplicate(source);
  write_rest(place, source, first);
}

void OutputStage::write_folds(Admission& place, const RecordSource& source) {
  FoldedPiece piece(source, layout_, *rules_.fold);
  turns_.wait_for(*place.ticket);
  const bool was_open = !open_->empty();
  piece.join(*open_);
  if (!was_open && !open_->empty()) place.admitted -= record_bytes_ + most_gap_bytes(record_bytes_);
  write_rest(place, piece, 0);
  count_folded(piece);
}

// Within its turn, which ends as soon as others may go on: all records from `first` on.
void OutputStage::write_rest(Admission& place, const RecordSource& source, std::size_t first) {
  if (has_key_of_parts()) {
    write_by_key(place.admitted, source, first);
    return end_turn(place);
  }
  std::size_t skipped;
  const auto spans = reserve_in_turn(place.admitted, source.size() - first, skipped);
  end_turn(place);
  pass_over(source, first, skipped);
  fill(spans, source, first + skipped);
}

// The same where parts have a key: each is known when its records are.
void OutputStage::write_by_key(std::size_t admitted, const RecordSource& source,
                               std::size_t first) {
  std::size_t count = source.size() - first, skipped;
  {
    std::lock_guard lock(mutex_);
    skipped = take_skipped(count);
    count = std::min<std::uint64_t>(count - skipped, rules_.limit - bytes_ / record_bytes_);
  }
  pass_over(source, first, skipped);
  first += skipped;
  OutputParts& parts = *rules_.parts;
  const std::size_t at_once = std::max<std::size_t>(kPassedBytes / record_bytes_, 1);
  std::vector<std::byte> records(std::min(at_once, count) * record_bytes_);
  const auto record = [&](std::size_t i) {
    return std::string_view(reinterpret_cast<const char*>(records.data()) + i * record_bytes_,
                            record_bytes_);
  };
  for (std::size_t now; count > 0; first += now, count -= now) {
    now = std::min(at_once, count);
    source.write(first, now, records.data());
    for (std::size_t begin = 0, end; begin < now; begin = end) {
      if (parts.must_cut_before(record(begin), record_bytes_)) parts.cut();
      end = partition_index(begin + 1, now,
                            [&](std::size_t i) { return parts.has_present_key(record(i)); });
      const std::size_t bytes = (end - begin) * record_bytes_;
      std::unique_lock lock(mutex_);
      const auto spans = reserve_locked(bytes, bytes);
      lock.unlock();
      admitted -= bytes;
      const Segment segment{records.data() + begin * record_bytes_, end - begin};
      fill(spans, UnsortedPiece({segment}, record_bytes_), 0);
    }
  }
  std::lock_guard lock(mutex_);
  reserve_locked(admitted, 0);
}

void OutputStage::end_turn(Admission& place) {
  if (!place.ticket) return;
  turns_.end(*place.ticket);
  place.ticket.reset();
}

// The stream will never be complete.
void OutputStage::give_up(Admission& place) noexcept {
  if (is_foreseen() || !place.ticket) return;
  turns_.wait_for(*place.ticket);
  end_turn(place);
}

void OutputStage::count_folded(const FoldedPiece& piece) {
  std::lock_guard lock(mutex_);
  removed_ += piece.hash();
  records_folded_ += piece.records_written();
  has_parted_ = has_parted_ || piece.has_parted();
}

// Writes the last group.
void OutputStage::finish_folding() {
  if (!open_->empty()) {
    const UnsortedPiece nothing({}, layout_.record_bytes());
    FoldedPiece piece(nothing, layout_, *rules_.fold);
    piece.end(*open_);
    Admission place;
    place.admitted = record_bytes_ + most_gap_bytes(record_bytes_);
    write_rest(place, piece, 0);
    count_folded(piece);
  }
  removed_.records -= hash_.records;
  removed_.sum -= hash_.sum;
}

// With the lock: of the next `records`, how many are left out.
std::size_t OutputStage::take_skipped(std::size_t records) {
  const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(records, skip_left_));
  skip_left_ -= skipped;
  return skipped;
}

// Leaves out `count` records from `first` on.
void OutputStage::pass_over(const RecordSource& source, std::size_t first, std::size_t count) {
  if (count == 0) return;
  const std::size_t at_once = std::clamp<std::size_t>(kPassedBytes / record_bytes_, 1, count);
  std::vector<std::byte> records(at_once * record_bytes_);
  MultisetHash hash;
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = std::min(at_once, count - done);
    source.write(first + done, now, records.data());
    add_records(hash, records.data(), now, record_bytes_);
    done += now;
  }
  if (rules_.fold) return;  // count_folded() counts the records that came
  std::lock_guard lock(mutex_);
  removed_ += hash;
}

// Writes the records from `next` on. A record that lies across two blocks is written aside and
// copied in two parts.
void OutputStage::fill(const std::vector<Span>& spans, const RecordSource& source,
                       std::size_t next) {
  const std::size_t record_bytes = record_bytes_;
  const bool hash_output = rules_.hash_output || rules_.fold;
  MultisetHash hash;
  std::vector<std::byte> split;  // the record across two blocks
  std::size_t split_left = 0;    // bytes of it still to be copied
  for (const Span& span : spans) {
    if (span.is_gap) {
      XXL_CHECK(split_left == 0);
      std::memset(span.data, 0, span.bytes);
      commit(span);
      continue;
    }
    const std::size_t head = std::min(split_left, span.bytes);
    if (head > 0) std::memcpy(span.data, split.data() + record_bytes - split_left, head);
    split_left -= head;
    const std::size_t whole = (span.bytes - head) / record_bytes;
    std::byte* out = span.data + head;
    if (whole > 0) {
      source.write(next, whole, out);
      if (hash_output) add_records(hash, out, whole, record_bytes);
      next += whole;
      out += whole * record_bytes;
    }
    const std::size_t tail = span.bytes - head - whole * record_bytes;
    if (tail > 0) {
      split.resize(record_bytes);
      source.write(next++, 1, split.data());
      if (hash_output) add_records(hash, split.data(), 1, record_bytes);
      std::memcpy(out, split.data(), tail);
      split_left = record_bytes - tail;
    }
    commit(span);
  }
  XXL_CHECK(split_left == 0);
  if (hash_output) {
    std::lock_guard lock(mutex_);
    hash_ += hash;
  }
}

void OutputStage::commit(const Span& span) {
  const std::size_t filled = span.block->filled.fetch_add(span.bytes, std::memory_order_acq_rel);
  if (filled + span.bytes == span.block->bytes) finish_block(*span.block, span.block->bytes);
}

// Failures are thrown by the mailbox: on a worker nothing would catch them.
void OutputStage::finish_block(const OutputBlock& block, std::size_t bytes) {
  mailbox_.guard([&] { sink_.put({block.buffer, bytes, block.index}); });
}

void OutputStage::finish() {
  if (rules_.fold) finish_folding();
  XXL_CHECK(admitted_ == 0 && open_blocks_.size() <= (places_.empty() ? 1 : 0));
  for (const auto& [index, last] : open_blocks_) {
    XXL_CHECK(last.block->filled == last.reserved);
    finish_block(*last.block, last.reserved);
  }
  open_blocks_.clear();
  for (std::byte* buffer : ready_) buffers_.give_back(buffer);
  ready_.clear();
}

}  // namespace xxl
