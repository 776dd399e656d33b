#include "record/record_key.h"

#include <algorithm>

namespace xxl {
namespace {

// Keys that agree so far mostly differ soon: windows are small at first.
constexpr std::size_t kFirstWindow = std::size_t{16} << 10;
constexpr std::size_t kWindowGrowth = 4;
constexpr std::size_t kMaxWindow = std::size_t{1} << 20;

}  // namespace

// Both keys agree in what is kept of them.
int RecordKey::compare_rest(const RecordKey& other) const {
  if (record_ == other.record_ && keys_ == other.keys_) return 0;
  std::string x, y;
  std::size_t window = kFirstWindow;
  for (std::size_t from = kKeptBytes;;
       from += window, window = std::min(kMaxWindow, kWindowGrowth * window)) {
    x.clear();
    y.clear();
    keys_->append_key_part(record_, from, window, x);
    other.keys_->append_key_part(other.record_, from, window, y);
    const int order =
        std::string_view(x).substr(0, window).compare(std::string_view(y).substr(0, window));
    if (order != 0 || x.size() < window) return order;
  }
}

}  // namespace xxl
