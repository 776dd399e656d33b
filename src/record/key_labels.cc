#include "record/key_labels.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace xxl {
KeyLabels::KeyLabels(std::shared_ptr<const detail::RecordOrder> order, std::size_t record_bytes)
    : order_(std::move(order)), record_bytes_(record_bytes), table_(std::make_shared<Table>()) {}

std::uint64_t KeyLabels::word(const std::byte* record) const {
  const auto table = this->table();
  std::uint16_t place;
  order_->place(record, 1, table->records.data(), table->labels.size(), &place);
  if (place == 0) return 0;
  const std::uint64_t label = table->labels[(place - 1) / 2u];
  return place % 2 != 0 ? label : label + 1;
}

const std::byte* KeyLabels::splitter(std::uint64_t label) const {
  const auto table = this->table();
  const auto found = std::lower_bound(table->labels.begin(), table->labels.end(), label);
  XXL_CHECK(found != table->labels.end() && *found == label);
  return table->records.data() +
         static_cast<std::size_t>(found - table->labels.begin()) * record_bytes_;
}

std::vector<std::uint64_t> KeyLabels::add(const std::vector<const std::byte*>& records) {
  const auto old = table();
  const std::size_t room = std::min(kMaxSplitters, kMaxBytes / record_bytes_);
  auto grown = std::make_shared<Table>();
  std::vector<std::uint64_t> words;
  const auto keep = [&](std::uint64_t label, const std::byte* record) {
    grown->labels.push_back(label);
    grown->records.insert(grown->records.end(), record, record + record_bytes_);
  };
  std::size_t next = 0;  // of the old ones
  for (std::size_t first = 0; first < records.size();) {
    // Those that lie between the same two old splitters.
    std::uint16_t place;
    order_->place(records[first], 1, old->records.data(), old->labels.size(), &place);
    const std::size_t below = place / 2u;  // old splitters
    for (; next < below; ++next)
      keep(old->labels[next], old->records.data() + next * record_bytes_);
    if (place % 2 != 0) {
      words.push_back(old->labels[below]);
      ++first;
      continue;
    }
    std::size_t last = first + 1;
    const bool is_last_gap = below == old->labels.size();
    const std::byte* const bound = old->records.data() + below * record_bytes_;
    while (last < records.size() && (is_last_gap || order_->compare(records[last], bound) < 0))
      ++last;
    const std::size_t count = last - first;
    // At either end, gaps stay as they are; between two splitters the gap is divided evenly.
    std::uint64_t low = below == 0 ? 0 : old->labels[below - 1];
    std::uint64_t high = is_last_gap ? ~std::uint64_t{0} : old->labels[below];
    const std::uint64_t wanted = (count + 1) * kLabelStep;
    if (old->labels.empty()) low = kFirstLabel;
    if (is_last_gap && high - low > wanted) high = low + wanted;
    if (below == 0 && !is_last_gap && high - low > wanted) low = high - wanted;
    const std::uint64_t gap = (high - low) / (count + 1) & ~std::uint64_t{1};
    // (False with a comparator that is not a strict weak order, which may say anything.)
    const bool ascends = grown->labels.empty() || grown->labels.back() <= low;
    const bool fits =
        ascends && gap >= kLeastGap && old->labels.size() + words.size() + count <= room;
    for (std::size_t i = 0; i < count; ++i) {
      if (fits) keep(low + (i + 1) * gap, records[first + i]);
      const std::uint64_t word = below == 0 ? 0 : old->labels[below - 1] + 1;
      words.push_back(fits ? low + (i + 1) * gap : word);
    }
    first = last;
  }
  for (; next < old->labels.size(); ++next)
    keep(old->labels[next], old->records.data() + next * record_bytes_);
  std::lock_guard lock(mutex_);
  table_ = std::move(grown);
  return words;
}

}  // namespace xxl
