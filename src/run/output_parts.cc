#include "run/output_parts.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace xxl {
namespace {

constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

}  // namespace

OutputParts::OutputParts(PartRules rules, std::size_t alignment)
    : rules_(std::move(rules)), alignment_(alignment), parts_(1), noted_(1) {}

std::uint64_t OutputParts::boundary() const {
  if (rules_.parts == 0 || present_ + 1 == rules_.parts) return kNowhere;
  const auto part = static_cast<unsigned __int128>(expected_bytes_) * (present_ + 1);
  return static_cast<std::uint64_t>(part / rules_.parts);
}

bool OutputParts::takes(std::uint64_t bytes) const {
  if (rules_.key != nullptr) return false;
  if (rules_.part_bytes != 0) return bytes_ + bytes <= rules_.part_bytes;
  return bytes == 0 || record_bytes_ + bytes <= boundary();
}

std::uint64_t OutputParts::room(std::uint64_t record_bytes) const {
  if (rules_.part_bytes != 0) {
    const std::uint64_t left = rules_.part_bytes - std::min(rules_.part_bytes, bytes_);
    return bytes_ == 0 ? std::max<std::uint64_t>(left / record_bytes, 1) : left / record_bytes;
  }
  const std::uint64_t end = boundary();
  if (end == kNowhere) return end / record_bytes;
  return end <= record_bytes_ ? 0 : ceil_div(end - record_bytes_, record_bytes);
}

std::uint64_t OutputParts::most_cuts(std::uint64_t bytes, std::uint64_t record_bytes) const {
  if (rules_.key != nullptr) return bytes / record_bytes;
  if (rules_.part_bytes != 0) {
    const std::uint64_t part = std::max(round_down(rules_.part_bytes, record_bytes), record_bytes);
    return bytes / part + 1;
  }
  const std::uint64_t least = expected_bytes_ / rules_.parts;
  return least == 0 ? rules_.parts : std::min(rules_.parts, bytes / least + 1);
}

bool OutputParts::must_cut_before(std::string_view record, std::uint64_t bytes) {
  if (rules_.key == nullptr) return is_behind_cut(0, bytes);
  if (has_present_key(record)) return false;
  last_key_ = key_of(*rules_.key, record, KeyExtractor::kWholeKey, made_);
  if (rules_.directory) directories_.push_back(rules_.directory(record));
  return std::exchange(any_key_, true);
}

bool OutputParts::has_present_key(std::string_view record) {
  return any_key_ && key_of(*rules_.key, record, KeyExtractor::kWholeKey, made_) == last_key_;
}

bool OutputParts::is_behind_cut(std::uint64_t before, std::uint64_t bytes) const {
  const std::uint64_t end = bytes_ + before;
  if (end == header_bytes_) return false;  // a part that is begun gets a record
  if (rules_.part_bytes != 0) return end + bytes > rules_.part_bytes;
  return record_bytes_ + before >= boundary();
}

std::uint64_t OutputParts::cut(std::uint64_t alignment) {
  const std::uint64_t next = round_up<std::uint64_t>(end(), alignment);
  const std::uint64_t gap = next - end();
  std::lock_guard lock(mutex_);
  parts_.back().bytes = bytes_;
  parts_.back().header_bytes = header_bytes_;
  parts_.emplace_back().start = next;
  noted_.emplace_back();
  ++present_;
  start_ = next;
  bytes_ = header_bytes_ = 0;
  return gap;
}

std::vector<OutputParts::PartPlace> OutputParts::cut_all(std::uint64_t records,
                                                         std::uint64_t record_bytes,
                                                         std::uint64_t alignment) {
  std::vector<PartPlace> places;
  for (std::uint64_t first = 0; first < records;) {
    const std::uint64_t count = std::min(room(record_bytes), records - first);
    if (count == 0) {
      cut(alignment);
      continue;
    }
    places.push_back({first, count, end()});
    note(present_, end(), {count, record_bytes, record_bytes});
    add(count * record_bytes);
    first += count;
  }
  return places;
}

void OutputParts::add_header(std::uint64_t bytes) {
  bytes_ += bytes;
  header_bytes_ += bytes;
}

void OutputParts::add(std::uint64_t bytes) {
  bytes_ += bytes;
  record_bytes_ += bytes;
}

void OutputParts::note(std::size_t part, std::uint64_t place, const PartRecords& records) {
  if (records.records == 0) return;
  std::lock_guard lock(mutex_);
  Noted& noted = noted_[part];
  noted.records += records.records;
  if (place <= noted.first_place) {
    noted.first_place = place;
    noted.first_bytes = records.first_bytes;
  }
  if (place >= noted.last_place) {
    noted.last_place = place;
    noted.last_bytes = records.last_bytes;
  }
}

void OutputParts::note_checksum(std::size_t part, std::uint64_t sum) {
  std::lock_guard lock(mutex_);
  parts_[part].checksum += sum;
}

std::uint64_t OutputParts::end_of(std::size_t part) const {
  std::lock_guard lock(mutex_);
  return parts_[part].start + (part == present_ ? bytes_ : parts_[part].bytes);
}

// The last part is the last one that starts at or before a place: those before it that start there
// are empty.
std::vector<OutputParts::Stretch> OutputParts::stretches(std::uint64_t begin,
                                                         std::uint64_t end) const {
  std::vector<Stretch> result;
  std::lock_guard lock(mutex_);
  auto next = std::upper_bound(
      parts_.begin(), parts_.end(), begin,
      [](std::uint64_t place, const OutputPart& part) { return place < part.start; });
  while (begin < end) {
    const auto part = std::prev(next);
    while (next != parts_.end() && next->start == begin) ++next;
    const std::uint64_t stop = next == parts_.end() ? end : std::min(end, next->start);
    result.push_back({static_cast<std::size_t>(part - parts_.begin()), begin - part->start,
                      static_cast<std::size_t>(stop - begin)});
    begin = stop;
    while (next != parts_.end() && next->start <= begin) ++next;
  }
  return result;
}

std::vector<OutputPart> OutputParts::parts() const {
  std::lock_guard lock(mutex_);
  std::vector<OutputPart> result = parts_;
  result.back().bytes = bytes_;
  result.back().header_bytes = header_bytes_;
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].records = noted_[i].records;
    result[i].first_bytes = noted_[i].first_bytes;
    result[i].last_bytes = noted_[i].last_bytes;
  }
  return result;
}

}  // namespace xxl
