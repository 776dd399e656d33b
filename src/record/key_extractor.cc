#include "record/key_extractor.h"

#include <algorithm>

namespace xxl {
namespace {

// Compared keys usually differ early.
constexpr std::size_t kPieceBytes = std::size_t{16} << 10;

class WindowReader final : public KeyReader {
 public:
  WindowReader(const KeyExtractor& keys, std::string_view record) : keys_(keys), record_(record) {}

  bool read(std::size_t, std::string& key) override {
    return windows_.read(key, [&](std::size_t from, std::size_t limit, std::string& piece) {
      keys_.append_key_part(record_, from, limit, piece);
    });
  }

 private:
  const KeyExtractor& keys_;
  std::string_view record_;
  KeyWindows windows_;
};

// The part of a key that has been read and not yet compared.
class KeyRemainder {
 public:
  KeyRemainder(const KeyExtractor& keys, std::string_view record)
      : reader_(keys.read_key(record)) {}

  // Empty at the end of the key only.
  std::string_view bytes() {
    while (more_ && bytes_.size() < kPieceBytes) more_ = reader_->read(kPieceBytes, bytes_);
    return bytes_;
  }
  void drop(std::size_t count) { bytes_.erase(0, count); }

 private:
  std::unique_ptr<KeyReader> reader_;
  std::string bytes_;
  bool more_ = true;
};

}  // namespace

std::unique_ptr<KeyReader> KeyExtractor::read_key(std::string_view record) const {
  return std::make_unique<WindowReader>(*this, record);
}

int compare_keys(const KeyExtractor& keys_of_a, std::string_view a, const KeyExtractor& keys_of_b,
                 std::string_view b) {
  if (&keys_of_a == &keys_of_b && a == b) return 0;
  KeyRemainder x(keys_of_a, a), y(keys_of_b, b);
  while (true) {
    const std::size_t common = std::min(x.bytes().size(), y.bytes().size());
    if (common == 0) return x.bytes().compare(y.bytes());
    const int order = x.bytes().substr(0, common).compare(y.bytes().substr(0, common));
    if (order != 0) return order;
    x.drop(common);
    y.drop(common);
  }
}

}  // namespace xxl
