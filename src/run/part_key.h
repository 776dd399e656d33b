// The key of parts, which also gives each part the name of a directory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/key_extractor.h"

namespace xxl {

class PartKey final : public KeyExtractor {
 public:
  // The name for the parts with the value that `record` has. May throw.
  using Directory = std::function<std::string(std::string_view record)>;

  PartKey(std::shared_ptr<const KeyExtractor> key, Directory directory)
      : key_(std::move(key)), directory_(std::move(directory)) {}

  bool is_in_record() const override { return key_->is_in_record(); }
  std::string_view key_in(std::string_view record) const override { return key_->key_in(record); }
  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    key_->append_key(record, limit, key);
  }

  // A part begins with `record`: in the order of parts, by one thread at a time. Throws what
  // Directory does.
  void begin_part(std::string_view record) const { directories_.push_back(directory_(record)); }
  // Those of the parts that began. It has none then.
  std::vector<std::string> take_directories() const { return std::move(directories_); }

 private:
  const std::shared_ptr<const KeyExtractor> key_;
  const Directory directory_;
  mutable std::vector<std::string> directories_;
};

}  // namespace xxl
