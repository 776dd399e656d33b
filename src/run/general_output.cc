#include "run/general_output.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "record/text_records.h"

namespace xxl {
namespace {

constexpr std::uint64_t kAnyNumber = ~std::uint64_t{0} / 2;

}  // namespace

// Two workers that begin a block at once take a buffer each, of which one goes back: hence less 1.
GeneralOutput::GeneralOutput(ByteSink& sink, WriteBuffers& buffers, std::size_t block_bytes,
                             Monitor& monitor, OutputParts* parts)
    : sink_(sink),
      buffers_(buffers),
      block_bytes_(block_bytes),
      most_begun_(sink.in_order() ? buffers.total_bytes() / block_bytes - 1 : kAnyNumber),
      monitor_(monitor),
      parts_(parts) {
  XXL_CHECK(most_begun_ > 0);
}

void GeneralOutput::wait_for_turn(Ticket ticket) {
  monitor_.wait([&] { return turn_ == ticket; });
}

void GeneralOutput::end_turn() {
  monitor_.change([&] { turn_++; });
}

GeneralOutput::Reservation GeneralOutput::begin_piece(Ticket ticket) {
  wait_for_turn(ticket);
  Reservation piece;
  piece.output_ = this;
  piece.position_ = piece.place_ = bytes_;
  if (parts_ != nullptr) piece.part_ = parts_->present();
  return piece;
}

GeneralOutput::Reservation GeneralOutput::begin(Ticket ticket, std::uint64_t bytes) {
  Reservation piece = begin_piece(ticket);
  if (parts_ != nullptr && !parts_->takes(bytes)) {
    piece.open_ended_ = piece.cuts_ = true;
    piece.unfilled_ = bytes;
    return piece;
  }
  if (parts_ != nullptr) parts_->add(bytes);
  piece.left_ = bytes;
  bytes_ += bytes;
  end_turn();
  return piece;
}

GeneralOutput::Reservation GeneralOutput::begin_open_ended(Ticket ticket) {
  Reservation piece = begin_piece(ticket);
  piece.open_ended_ = true;
  piece.cuts_ = parts_ != nullptr;
  return piece;
}

GeneralOutput::OutputStretch GeneralOutput::lay_out(std::uint64_t bytes) {
  is_laid_out_ = true;
  OutputStretch place{parts_->end(), bytes, parts_->present(), std::exchange(header_due_, false)};
  if (place.has_header) place.position -= header_.size();
  parts_->add(bytes);
  bytes_ = parts_->end();
  return place;
}

void GeneralOutput::cut() {
  parts_->cut(block_bytes_);
  parts_->add_header(header_.size());
  header_due_ = !header_.empty();
}

GeneralOutput::Reservation GeneralOutput::begin(const OutputStretch& place) {
  Reservation piece;
  piece.output_ = this;
  piece.position_ = piece.place_ = place.position;
  piece.left_ = place.bytes;
  piece.part_ = place.part;
  piece.end_of_part_ = parts_->end_of(place.part);
  if (place.has_header) {
    piece.left_ += header_.size();
    piece.place_ += header_.size();
    piece.append(header_);
  }
  return piece;
}

void GeneralOutput::write_header(Ticket ticket, std::string_view header,
                                 const RecordSyntax& syntax) {
  const std::uint64_t bytes = header.size() + syntax.frame_bytes();
  if (parts_ != nullptr) {
    XXL_CHECK(!syntax.counted);
    header_.assign(header).push_back(syntax.terminator);
    parts_->add_header(bytes);
  }
  Reservation piece = begin_piece(ticket);
  piece.left_ = bytes;
  bytes_ += bytes;
  end_turn();
  piece.append(header);
  piece.append(syntax.terminator);
  piece.finish();
}

void GeneralOutput::Reservation::before_record(std::string_view record, std::uint64_t bytes) {
  if (cuts_) {
    if (output_->parts_->must_cut_before(record, bytes)) cut();
    if (cuts_) output_->parts_->add(bytes);
    unfilled_ -= std::min(unfilled_, bytes);
  }
  records_.add(bytes);
}

void GeneralOutput::Reservation::cut() {
  OutputParts& parts = *output_->parts_;
  parts.note(part_, place_, records_);
  records_ = {};
  for (std::uint64_t gap = parts.cut(); gap > 0; --gap) append('\0');
  part_ = parts.present();
  place_ = parts.end();
  append(output_->header_);
  parts.add_header(output_->header_.size());
  if (unfilled_ > 0 && parts.takes(unfilled_)) close();
}

// The rest is known and lies in this part: others may have their turns.
void GeneralOutput::Reservation::close() {
  output_->parts_->add(unfilled_);
  const auto here = static_cast<std::uint64_t>(end_ - at_);  // left in this block
  position_ -= here;
  output_->bytes_ = position_ + unfilled_;
  const std::uint64_t filled_here = std::min(unfilled_, here);
  end_ = at_ + filled_here;
  position_ += filled_here;
  left_ = unfilled_ - filled_here;
  open_ended_ = cuts_ = false;
  output_->end_turn();
}

void GeneralOutput::Reservation::append_records(std::string_view text, const RecordSyntax& syntax) {
  if (output_->parts_ == nullptr) return append(text);
  visit_records(text, syntax, [&](std::string_view record) {
    append_record(record, syntax);
    return true;
  });
}

void GeneralOutput::Reservation::next_block() {
  commit();
  GeneralOutput& output = *output_;
  XXL_CHECK(open_ended_ || left_ > 0);
  block_index_ = position_ / output.block_bytes_;
  const std::size_t offset = position_ % output.block_bytes_;
  std::uint64_t part = output.block_bytes_ - offset;
  if (!open_ended_) part = std::min(part, left_);
  begin_ = at_ = reinterpret_cast<char*>(output.block(block_index_)) + offset;
  end_ = begin_ + part;
  position_ += part;
  if (!open_ended_) left_ -= part;
}

void GeneralOutput::Reservation::commit() {
  if (begin_ == nullptr) return;
  if (open_ended_) position_ -= static_cast<std::uint64_t>(end_ - at_);
  GeneralOutput& output = *output_;
  const std::uint64_t all = std::min<std::uint64_t>(
      output.block_bytes_, end_of_part_ - block_index_ * output.block_bytes_);
  output.fill(block_index_, static_cast<std::size_t>(at_ - begin_), all);
  begin_ = at_ = end_ = nullptr;
}

void GeneralOutput::Reservation::append(std::string_view bytes) {
  while (!bytes.empty()) {
    if (at_ == end_) next_block();
    const std::size_t part = std::min(bytes.size(), static_cast<std::size_t>(end_ - at_));
    std::memcpy(at_, bytes.data(), part);
    at_ += part;
    bytes.remove_prefix(part);
  }
}

void GeneralOutput::Reservation::finish() {
  XXL_CHECK(left_ == 0 && (open_ended_ || at_ == end_));
  commit();
  if (output_->parts_ != nullptr) output_->parts_->note(part_, place_, records_);
  if (!open_ended_) return;
  output_->bytes_ = position_;
  output_->end_turn();
}

// The buffer of a block: a new one, or one that a neighbour has begun.
std::byte* GeneralOutput::block(std::uint64_t index) {
  {
    auto lock = monitor_.lock();
    const auto it = blocks_.find(index);
    if (it != blocks_.end()) return it->second.buffer;
    monitor_.wait(lock, [&] { return index < written_ + most_begun_; });
  }
  std::byte* buffer = buffers_.take(block_bytes_);
  auto lock = monitor_.lock();
  const auto [it, is_new] = blocks_.try_emplace(index, OpenBlock{buffer, 0});
  std::byte* const result = it->second.buffer;
  lock.unlock();
  if (!is_new) buffers_.give_back(buffer, block_bytes_);
  return result;
}

// `all`: what is to be filled in that block.
void GeneralOutput::fill(std::uint64_t index, std::size_t bytes, std::size_t all) {
  auto lock = monitor_.lock();
  OpenBlock& block = blocks_.at(index);
  block.filled += bytes;
  if (block.filled < all) return;
  std::byte* const buffer = block.buffer;
  blocks_.erase(index);
  lock.unlock();
  hand_on(index, buffer, all);
}

void GeneralOutput::hand_on(std::uint64_t index, std::byte* buffer, std::size_t bytes) {
  {
    auto lock = monitor_.lock();
    ++pending_;
  }
  const auto done = [this, buffer, token = in_flight_.begin()](std::exception_ptr failure) {
    if (failure != nullptr) monitor_.fail(std::move(failure));
    {
      auto lock = monitor_.lock();
      --pending_;
      ++written_;
    }
    buffers_.give_back(buffer, block_bytes_);
  };
  sink_.put(index, buffer, bytes, done);
}

// Those that were asked for and that no record has come to.
void GeneralOutput::write_empty_parts() {
  if (is_laid_out_) {
    for (; parts_->lacks_parts(); begin(lay_out(0)).finish()) cut();
    return;
  }
  Reservation piece;
  piece.output_ = this;
  piece.open_ended_ = true;
  piece.position_ = bytes_;
  while (parts_->lacks_parts()) piece.cut();
  piece.finish();
}

void GeneralOutput::finish() {
  if (parts_ != nullptr) write_empty_parts();
  XXL_CHECK(blocks_.size() <= 1);
  if (!blocks_.empty()) {
    const auto [index, block] = *blocks_.begin();
    blocks_.clear();
    hand_on(index, block.buffer, block.filled);
  }
  auto lock = monitor_.lock();
  monitor_.wait(lock, [&] { return pending_ == 0; });
  lock.unlock();
  sink_.finish();
}

}  // namespace xxl
