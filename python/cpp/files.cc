#include "files.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/part_directory.h"
#include "errors.h"
#include "join_kinds.h"
#include "long_work.h"
#include "means.h"
#include "measurements.h"
#include "xxl/join.h"
#include "xxl/sort.h"

namespace xxl::python {
namespace {

// Names, keys and separators are bytes: names of files need not be UTF-8.
std::string text_of(const nb::bytes& bytes) {
  return std::string(bytes.c_str(), bytes.size());
}

void add_devices(nb::dict& report, const AcceleratorReport& accelerator,
                 const std::string& no_accelerator) {
  nb::list devices;
  for (const AcceleratorReport::Device& device : accelerator.devices) devices.append(device.name);
  report["devices"] = devices;
  report["no_gpu"] = no_accelerator;
}

nb::dict sort_files_of(const std::vector<nb::bytes>& inputs, const nb::bytes& output,
                       const std::string& record, const std::vector<nb::bytes>& keys, bool unique,
                       bool merge_only, bool reverse, std::optional<std::uint64_t> limit,
                       bool count, const std::vector<nb::bytes>& folds, const nb::bytes& separator,
                       bool header, const std::string& flags, bool stable, bool zero_terminated,
                       bool empty_last, const std::string& invalid, bool skip_malformed,
                       bool quotes, bool verify, const Means& means, nb::object callback) {
  LongWork work;
  SortJob job;
  job.inputs = texts_of(inputs);
  job.output = text_of(output);
  job.record = record;
  job.keys = texts_of(keys);
  job.unique = unique;
  job.merge_only = merge_only;
  job.reverse = reverse;
  job.limit = limit;
  job.count = count;
  job.folds = texts_of(folds);
  job.field_separator = text_of(separator);
  job.header = header;
  job.flags = flags;
  job.stable = stable;
  job.zero_terminated = zero_terminated;
  job.empty_last = empty_last;
  job.invalid = invalid;
  job.skip_malformed = skip_malformed;
  job.quotes = quotes;
  job.verify = verify;
  job.progress = &work.progress;
  const resources shared = means.make(work.stop.get_token());
  SortReport done;
  work.run([&] { done = sort_files(job, shared); }, callback);

  nb::dict report;
  report["records"] = done.records_out;
  report["records_in"] = done.records_in;
  report["skipped"] = done.skipped;
  report["runs"] = done.runs;
  report["passes"] = done.passes;
  add_measurements(report, done);
  add_devices(report, done.accelerator, done.plan.no_accelerator);
  return report;
}

JoinMethod method_of(const std::string& word) {
  if (word == "auto") return JoinMethod::automatic;
  if (word == "sort-merge") return JoinMethod::sort_merge;
  if (word == "hash") return JoinMethod::hash;
  throw_usage("a method is 'auto', 'sort-merge' or 'hash', not '" + word + "'");
}

nb::dict join_files_of(const std::vector<nb::bytes>& inputs, const nb::bytes& output,
                       const std::vector<std::string>& records,
                       const std::vector<std::vector<nb::bytes>>& keys, const std::string& how,
                       const std::string& method, const std::vector<bool>& presorted,
                       bool count_only, const std::string& columns, const nb::bytes& separator,
                       const std::optional<nb::bytes>& filler, bool header, bool empty_keys_match,
                       bool ignore_case, bool zero_terminated, bool skip_malformed, bool quotes,
                       const std::vector<std::string>& suffixes, bool verify, const Means& means,
                       nb::object callback) {
  LongWork work;
  JoinJob job;
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    job.inputs[side] = text_of(inputs.at(side));
    job.records[side] = records.at(side);
    job.keys[side] = texts_of(keys.at(side));
    job.presorted[side] = presorted.at(side);
    job.suffixes[side] = suffixes.at(side);
  }
  job.output = text_of(output);
  job.kind = join_kind_of(how);
  job.method = method_of(method);
  job.count_only = count_only;
  job.columns = columns;
  job.field_separator = text_of(separator);
  if (filler) job.filler = text_of(*filler);
  job.header = header;
  job.empty_keys_match = empty_keys_match;
  job.ignore_case = ignore_case;
  job.zero_terminated = zero_terminated;
  job.skip_malformed = skip_malformed;
  job.quotes = quotes;
  job.verify = verify;
  job.progress = &work.progress;
  const resources shared = means.make(work.stop.get_token());
  JoinReport done;
  work.run([&] { done = join_files(job, shared); }, callback);

  nb::dict report;
  report["rows"] = done.rows;
  const auto both = [&done](auto member) {
    return nb::make_tuple(done.sides[0].*member, done.sides[1].*member);
  };
  report["records"] = both(&JoinReport::Side::records);
  report["matched"] = both(&JoinReport::Side::matched);
  report["skipped"] = both(&JoinReport::Side::skipped);
  report["bytes_written"] = done.bytes_written;
  report["method"] = done.plan.method == JoinMethod::hash ? "hash" : "sort-merge";
  report["because"] = done.plan.because;
  add_measurements(report, done);
  add_devices(report, done.accelerator, done.plan.no_accelerator);
  return report;
}

}  // namespace

void bind_files(nb::module_& m) {
  m.def("sort_files", sort_files_of, nb::kw_only(), nb::arg("inputs"), nb::arg("output"),
        nb::arg("record"), nb::arg("keys"), nb::arg("unique"), nb::arg("merge_only"),
        nb::arg("reverse"), nb::arg("limit").none(), nb::arg("count"), nb::arg("folds"),
        nb::arg("separator"), nb::arg("header"), nb::arg("flags"), nb::arg("stable"),
        nb::arg("zero_terminated"), nb::arg("empty_last"), nb::arg("invalid"),
        nb::arg("skip_malformed"), nb::arg("quotes"), nb::arg("verify"), nb::arg("means"),
        nb::arg("progress").none());
  // Folders of parts among the inputs that Python reads itself.
  m.def(
      "check_parts",
      [](const std::vector<nb::bytes>& paths) {
        const std::vector<std::string> names = texts_of(paths);
        const nb::gil_scoped_release others_go_on;
        check_parts(names);
      },
      nb::arg("paths"));
  m.def("join_files", join_files_of, nb::kw_only(), nb::arg("inputs"), nb::arg("output"),
        nb::arg("records"), nb::arg("keys"), nb::arg("how"), nb::arg("method"),
        nb::arg("presorted"), nb::arg("count_only"), nb::arg("columns"), nb::arg("separator"),
        nb::arg("filler").none(), nb::arg("header"), nb::arg("empty_keys_match"),
        nb::arg("ignore_case"), nb::arg("zero_terminated"), nb::arg("skip_malformed"),
        nb::arg("quotes"), nb::arg("suffixes"), nb::arg("verify"), nb::arg("means"),
        nb::arg("progress").none());
}

}  // namespace xxl::python
