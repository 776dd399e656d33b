// Sorting of lines in memory.
#include "pipeline/text_sort.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/error.h"
#include "record/csv_rows.h"

namespace xxl {
namespace {

struct Line {
  std::string text;
  std::string key;
};

std::shared_ptr<const KeyExtractor> keys;
std::uint64_t skipped;

void read_lines(const TextSortOptions& options, const std::string& file, bool first,
                std::vector<Line>& lines, std::string& header) {
  if (first) keys = options.keys;
  const int fd = file == "-" ? dup(0) : open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw_io_error(errno, "cannot open", file);
  std::string text;
  char buffer[65536];
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) != 0;) {
    if (n < 0) throw_io_error(errno, "cannot read", file);
    text.append(buffer, static_cast<std::size_t>(n));
  }
  close(fd);
  bool at_header = options.syntax.header;
  for (std::size_t start = 0; start < text.size();) {
    std::size_t end = options.syntax.quoted ? find_row_end(text, start, options.syntax.terminator)
                                            : text.find(options.syntax.terminator, start);
    if (end == std::string::npos) end = text.size();
    Line line{text.substr(start, end - start), {}};
    const std::size_t offset = start;
    start = end + 1;
    if (at_header) {
      if (first) header = line.text + options.syntax.terminator;
      if (first && options.keys_of_header) keys = options.keys_of_header(line.text);
      at_header = false;
      continue;
    }
    if (options.malformed) {
      if (const auto fault = options.malformed(line.text)) {
        if (!options.syntax.skip_malformed) {
          throw Error(ErrorCode::bad_input, *fault, file, offset);
        }
        ++skipped;
        continue;
      }
    }
    if (keys->is_whole_record()) {
      line.key = line.text;
    } else {
      keys->append_key(line.text, KeyExtractor::kWholeKey, line.key);
    }
    lines.push_back(std::move(line));
  }
}

}  // namespace

SortReport text_sort(const TextSortOptions& options) {
  std::vector<Line> lines;
  std::string header;
  for (std::size_t i = 0; i < options.inputs.size(); ++i) {
    read_lines(options, options.inputs[i], i == 0, lines, header);
  }
  const bool descending = keys->is_descending();
  std::stable_sort(lines.begin(), lines.end(), [&](const Line& a, const Line& b) {
    return descending ? b.key < a.key : a.key < b.key;
  });
  std::string out = header;
  std::uint64_t written = 0;
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t next = i + 1;
    while (options.unique && next < lines.size() && lines[next].key == lines[i].key) ++next;
    if (options.limit && written >= *options.limit) break;
    if (options.fold) {
      const auto fold = options.fold();
      fold->begin(lines[i].text);
      for (std::size_t j = i + 1; j < next; ++j) fold->add(lines[j].text);
      fold->finish(out);
    } else {
      out += lines[i].text;
    }
    out += options.syntax.terminator;
    ++written;
    i = next;
  }
  const bool to_stdout = options.output == "-";
  const std::string name = to_stdout ? "standard output" : options.output;
  const int fd = to_stdout
                     ? dup(1)
                     : open(options.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) throw_io_error(errno, "cannot open", name);
  for (std::size_t done = 0; done < out.size();) {
    const ssize_t n = write(fd, out.data() + done, out.size() - done);
    if (n < 0) throw_io_error(errno, "cannot write", name);
    done += static_cast<std::size_t>(n);
  }
  close(fd);
  SortReport report;
  report.records_in = lines.size();
  report.records_out = written;
  report.skipped = skipped;
  return report;
}

SortPlan plan_text_sort(const TextSortOptions&) {
  return {};
}

TextOrderCheck check_text_order(const TextSortOptions& options) {
  std::vector<Line> lines;
  std::string header;
  read_lines(options, options.inputs.front(), true, lines, header);
  const bool descending = keys->is_descending();
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const int order = lines[i - 1].key.compare(lines[i].key) * (descending ? -1 : 1);
    if (order > 0 || (order == 0 && options.unique)) return {false, i, lines[i].text};
  }
  return {};
}

}  // namespace xxl
