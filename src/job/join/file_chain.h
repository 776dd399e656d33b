// The records of files one after the other: of an input that is in order already, which may be a
// directory of parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "job/general_sort/file_cursor.h"
#include "job/inputs.h"
#include "merge/record_merge.h"

namespace xxl {

class FileChain final : public RecordCursor {
 public:
  using OpenFile = std::function<std::unique_ptr<FileCursor>(io::File& file)>;
  using OnHeader = std::function<void(std::size_t file, std::string_view header)>;

  // `open` makes the cursor of a file, after that of the one before has gone. `on_header`, unless
  // empty, gets the first record of each. The inputs must outlive it.
  FileChain(Inputs& inputs, OpenFile open, OnHeader on_header)
      : inputs_(inputs), open_(std::move(open)), on_header_(std::move(on_header)) {
    open_next();
  }

  bool advance() override;
  std::string_view record() const override { return cursor_->record(); }
  std::shared_ptr<const void> hold() override { return cursor_->hold(); }

  // Throws Error{bad_input}: the current record has this `fault`.
  [[noreturn]] void fail(const std::string& fault) const { cursor_->fail(fault); }

 private:
  void open_next();

  Inputs& inputs_;
  const OpenFile open_;
  const OnHeader on_header_;
  std::size_t next_file_ = 0;
  std::unique_ptr<FileCursor> cursor_;
};

}  // namespace xxl
