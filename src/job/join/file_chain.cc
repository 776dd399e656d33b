#include "job/join/file_chain.h"

namespace xxl {

void FileChain::open_next() {
  cursor_.reset();
  cursor_ = open_(inputs_.files[next_file_]);
  if (on_header_) {
    if (const auto header = cursor_->take_header()) on_header_(next_file_, *header);
  }
  ++next_file_;
}

bool FileChain::advance() {
  while (!cursor_->advance()) {
    if (next_file_ == inputs_.files.size()) return false;
    open_next();
  }
  return true;
}

}  // namespace xxl
