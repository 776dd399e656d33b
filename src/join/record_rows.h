// Rows of joined records of a fixed size, for joins that take these as records of text.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "join/join_rows.h"
#include "join/output_layout.h"

namespace xxl {

class RecordRows final : public JoinRows {
 public:
  explicit RecordRows(std::shared_ptr<const RowLayout> layout) : layout_(std::move(layout)) {}

  void set_r(std::string_view r) override { r_ = bytes_of(r); }
  void append_pair(std::string_view s, std::string& row) override {
    append_row({r_, bytes_of(s)}, row);
  }
  void append_part(std::string_view s, std::string& part) override {
    layout_->write_part(bytes_of(s), extend(part, layout_->part_bytes()));
  }
  void append_pair_of_part(std::string_view part, std::string& row) override {
    layout_->write_with_part(r_, bytes_of(part), extend(row, layout_->row_bytes()));
  }
  void append_alone(JoinSide side, std::string_view record, std::string& row) override {
    const std::byte* const bytes = bytes_of(record);
    append_row(side == JoinSide::r ? RowRecords{bytes, nullptr} : RowRecords{nullptr, bytes}, row);
  }

 private:
  static const std::byte* bytes_of(std::string_view record) {
    return reinterpret_cast<const std::byte*>(record.data());
  }
  static std::byte* extend(std::string& text, std::size_t bytes) {
    text.resize(text.size() + bytes);
    return reinterpret_cast<std::byte*>(text.data() + text.size() - bytes);
  }
  void append_row(const RowRecords& records, std::string& row) const {
    layout_->write_each(
        1, [&](std::size_t) { return records; }, extend(row, layout_->row_bytes()));
  }

  std::shared_ptr<const RowLayout> layout_;
  const std::byte* r_ = nullptr;
};

}  // namespace xxl
