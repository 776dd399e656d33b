// Whether a file of lines or rows is in order; the file is read into memory.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "pipeline/text_sort.h"
#include "record/csv_rows.h"

namespace xxl {
namespace {

std::string read_all(const std::string& file) {
  const int fd = file == "-" ? dup(STDIN_FILENO) : open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw_io_error(errno, "cannot open", file);
  std::string text;
  char buffer[65536];
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) != 0;) {
    if (n < 0) throw_io_error(errno, "cannot read", file);
    text.append(buffer, static_cast<std::size_t>(n));
  }
  close(fd);
  return text;
}

}  // namespace

TextOrderCheck check_text_order(const TextSortOptions& options) {
  const std::string text = read_all(options.inputs.front());
  std::shared_ptr<const KeyExtractor> keys = options.keys;
  std::string last;
  std::string key;
  std::uint64_t record = 0;
  bool at_header = options.syntax.header;
  for (std::size_t start = 0; start < text.size();) {
    std::size_t end = options.syntax.quoted ? find_row_end(text, start, options.syntax.terminator)
                                            : text.find(options.syntax.terminator, start);
    if (end == std::string::npos) end = text.size();
    const std::string line = text.substr(start, end - start);
    start = end + 1;
    if (at_header) {
      if (options.keys_of_header) keys = options.keys_of_header(line);
      at_header = false;
      continue;
    }
    key.clear();
    if (keys->is_whole_record()) {
      key = line;
    } else {
      keys->append_key(line, KeyExtractor::kWholeKey, key);
    }
    const int order = last.compare(key) * (keys->is_descending() ? -1 : 1);
    if (record > 0 && (order > 0 || (order == 0 && options.unique))) return {false, record, line};
    last.swap(key);
    ++record;
  }
  return {};
}

}  // namespace xxl
