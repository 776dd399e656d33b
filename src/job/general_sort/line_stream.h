// The lines of a file or pipe, as they come: for join(1), which takes what is there and never reads
// ahead more than a buffer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "merge/record_merge.h"

namespace xxl {

class LineStream final : public RecordCursor {
 public:
  // Takes over the open file `fd`. `name` is for messages.
  LineStream(int fd, std::string name, char terminator);

  // Throws Error{io}: "read error".
  bool advance() override;
  std::string_view record() const override { return record_; }

 private:
  bool read_more();

  io::File file_;
  char terminator_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of what has not been handed out
  std::size_t end_ = 0;    // of what has been read
  bool at_end_ = false;
  std::string_view record_;
};

}  // namespace xxl
