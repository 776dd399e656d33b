#include "job/join/records_as_general.h"

#include <memory>
#include <string>

#include "join/output_layout.h"
#include "join/record_rows.h"
#include "record/format_key.h"
#include "record/key_text.h"

namespace xxl {

GeneralJoinOptions join_as_general(const FixedJoinOptions& join) {
  check_compatible(join.formats);
  const auto layout = std::make_shared<const RowLayout>(join.formats, join.how, join.layout);
  GeneralJoinOptions text;
  static_cast<JoinOptions&>(text) = join;
  text.shape = shape_of(join.how);
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    text.record_bytes[side] = join.formats[side].record_bytes;
    text.rules[side].keys = std::make_shared<FormatKey>(join.formats[side]);
  }
  text.row_bytes = layout->row_bytes();
  text.make_rows = [layout] { return std::make_unique<RecordRows>(layout); };
  text.record_kind = "fixed:" + std::to_string(text.row_bytes);
  text.key_text = key_text_of(layout->whole_row_format());
  return text;
}

}  // namespace xxl
