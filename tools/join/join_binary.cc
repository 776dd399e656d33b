// xxl join of binary records.
#include "base/error.h"
#include "base/units.h"
#include "cli/devices.h"
#include "engine/files/text_kind.h"
#include "engine/join/external_join.h"
#include "join/join_shared.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

RecordFormat format_of_side(const ParsedOptions& options, std::size_t side) {
  const std::string own = side == 0 ? "record1" : "record2";
  if (!options.has(own) && !options.has("record")) {
    throw_usage(options.command(), "say what the records of both sides are: --record, or --" + own);
  }
  const std::string record = options.value(own, options.value("record", ""));
  if (text_kind(record) != TextKind::none) {
    throw_usage(options.command(),
                "--record1 and --record2 are for binary records; text is of one kind on both "
                "sides: --record=" +
                    record);
  }
  return parse_record_format(record, key_specs(options, side), false, kOtherRecords);
}

std::string describe(const RecordFormat& format) {
  return format.name + ", " + format_count(format.record_bytes, "byte") + ", key of " +
         format_count(format.key_bytes(), "byte");
}

}  // namespace

void set_binary_join(const JoinArguments& arguments, RecordJoinOptions& join) {
  const ParsedOptions& options = arguments.options;
  join.formats = {format_of_side(options, 0), format_of_side(options, 1)};
  join.layout = options.value("layout", "");
  if (options.has("layout") && join.layout.empty()) {
    throw_usage(options.command(), "--layout= leaves nothing of a row");
  }
}

int join_binary(const Caller& caller, const JoinArguments& arguments) {
  const ParsedOptions& options = arguments.options;
  RecordJoinOptions join;
  set_join_options(arguments, join);
  set_binary_join(arguments, join);
  JobWatch watch(caller, options, join);
  const DeviceChoice device = device_option(options, join.time_line);
  device.give_to(join);
  const JoinSubject subject{.inputs = join.inputs,
                            .records = {describe(join.formats[0]), describe(join.formats[1])},
                            .kind = options.word("how", "inner"),
                            .output = join.count_only ? "" : join.output,
                            .scratch_dirs = join.scratch_dirs};
  const JoinRunner runner{[&] { return plan_join(join); }, [&] { return external_join(join); }};
  return run_join_reports(caller, arguments, join, subject, watch, runner);
}

}  // namespace xxl::cli
