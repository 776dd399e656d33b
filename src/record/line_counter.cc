#include "record/line_counter.h"

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace xxl {
namespace {

class LineCounter : public GroupFold {
 public:
  void begin(std::string_view line) override {
    first_ = line;
    count_ = 1;
  }
  void add(std::string_view) override { ++count_; }
  void finish(std::string& out) override {
    std::array<char, 32> text{};
    const int size = std::snprintf(text.data(), text.size(), "%7" PRIu64 " ", count_);
    out.append(text.data(), static_cast<std::size_t>(size)).append(first_);
  }

 private:
  std::string first_;
  std::uint64_t count_ = 0;
};

}  // namespace

std::unique_ptr<GroupFold> make_line_counter() {
  return std::make_unique<LineCounter>();
}

}  // namespace xxl
