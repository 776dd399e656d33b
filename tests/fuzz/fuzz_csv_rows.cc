// Rows and fields of any text, compared with a plain reader.
#include "csv_reference.h"
#include "fuzz_input.h"
#include "record/csv_rows.h"
#include "record/row_splitter.h"

namespace xxl {
namespace {

using fuzz::require;

void check_fields(std::string_view text, char separator) {
  const reference::Row expected = reference::read_row(text, separator);
  RowFields fields;
  fields.parse(text, separator);
  require(!fields.fault() == expected.valid);
  require(fields.size() == expected.fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::string value;
    fields[i].append_value(value);
    require(value == expected.fields[i]);
    // Written and read again.
    std::string written;
    append_field(value, separator, written);
    const reference::Row again = reference::read_row(written, separator);
    require(again.valid && again.fields.size() == 1 && again.fields[0] == value);
  }
}

void check_scan(std::string_view text, char terminator) {
  const QuoteScan scan = scan_quotes(text, terminator);
  for (const bool inside : {false, true}) {
    const std::vector<std::size_t> expected = reference::row_ends(text, inside, terminator);
    QuoteScan::Ends ends;
    if (!expected.empty()) ends = {expected.size(), expected.front() + 1, expected.back() + 1};
    require((inside ? scan.if_inside : scan.if_outside) == ends);
    std::vector<std::size_t> appended;
    require(append_row_ends(text, inside, terminator, 0, appended) == (inside != scan.odd_quotes));
    require(appended == expected);
  }
}

void check_splitter(std::string_view text, char separator, char terminator, unsigned step,
                    std::size_t most_open) {
  RowSplitter splitter(separator, terminator, most_open);
  for (const reference::Piece& piece :
       reference::split_rows(text, separator, terminator, most_open)) {
    std::size_t given = 0;
    std::optional<RowSplitter::Row> row;
    do {
      const std::string_view next = text.substr(given, step);
      given += next.size();
      row = splitter.next(next, given == text.size());
    } while (!row);
    require(text.substr(0, row->size) == piece.row);
    RowFields fields;
    fields.parse(piece.row, separator);
    require(!fields.fault() == piece.valid);
    text.remove_prefix(row->size + (row->terminated ? 1 : 0));
  }
  require(text.empty());
}

}  // namespace
}  // namespace xxl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xxl::fuzz::Input input(data, size);
  const char separator = input.choose(2) == 0 ? ',' : '\t';
  const char terminator = input.choose(8) == 0 ? '\0' : '\n';
  const unsigned step = 1 + input.choose(256);
  xxl::check_fields(input.rest(), separator);
  xxl::check_scan(input.rest(), terminator);
  xxl::check_splitter(input.rest(), separator, terminator, step, xxl::RowSplitter::kUnbounded);
  xxl::check_splitter(input.rest(), separator, terminator, step, step);
  return 0;
}
