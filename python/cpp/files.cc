#include "bindings.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "choices.h"
#include "job/part_directory.h"
#include "long_work.h"
#include "means.h"
#include "measurements.h"
#include "text.h"
#include "xxl/join.h"
#include "xxl/sort.h"

namespace xxl::python {
namespace {

// Members of a job by their names; those that are not given stay as they are.
class Fields {
 public:
  explicit Fields(nb::kwargs given) : given_(std::move(given)) {}

  template <class T>
  void take(const char* name, T& member) {
    if (!given_.contains(name)) return;
    if (!nb::try_cast(given_[name], member)) throw nb::type_error(name);
    nb::del(given_[name]);
  }
  void check_all_taken() const {
    if (given_.size() != 0) throw nb::type_error("a job has no such field");
  }

 private:
  nb::kwargs given_;
};

// The entries that the reports of sorts and joins share.
template <class Report>
nb::dict report_of(const Report& done) {
  nb::dict report;
  add_measurements(report, done);
  nb::list devices;
  for (const auto& device : done.accelerator.devices) devices.append(device.name);
  report["devices"] = nb::tuple(devices);
  report["no_gpu"] = done.plan.no_accelerator;
  return report;
}

nb::dict sort_files_of(const Means& means, nb::object callback, const nb::kwargs& given) {
  LongWork work;
  SortJob job;
  Fields fields(given);
  fields.take("inputs", job.inputs);
  fields.take("output", job.output);
  fields.take("format", job.format);
  fields.take("keys", job.keys);
  fields.take("unique", job.unique);
  fields.take("merge_only", job.merge_only);
  fields.take("reverse", job.reverse);
  fields.take("limit", job.limit);
  fields.take("count", job.count);
  fields.take("aggregates", job.aggregates);
  fields.take("separator", job.separator);
  fields.take("header", job.header);
  fields.take("flags", job.flags);
  fields.take("stable", job.stable);
  fields.take("zero_terminated", job.zero_terminated);
  fields.take("empty_last", job.empty_last);
  fields.take("nulls", job.nulls);
  fields.take("escape", job.escape);
  fields.take("comment", job.comment);
  fields.take("malformed", job.malformed);
  fields.take("rejects", job.rejects);
  fields.take("max_rejects", job.max_rejects);
  fields.take("quotes", job.quotes);
  fields.take("verify", job.verify);
  fields.check_all_taken();
  job.progress = &work.progress;
  const resources shared = means.make(work.stop.get_token());
  SortReport done;
  work.run([&] { done = sort_files(job, shared); }, callback);

  nb::dict report = report_of(done);
  report["records"] = done.records_out;
  report["records_in"] = done.records_in;
  report["skipped"] = done.skipped;
  report["runs"] = done.runs;
  report["passes"] = done.passes;
  return report;
}

nb::dict join_files_of(const Means& means, nb::object callback, const nb::kwargs& given) {
  LongWork work;
  JoinJob job;
  std::string how, method;
  Fields fields(given);
  fields.take("inputs", job.inputs);
  fields.take("output", job.output);
  fields.take("formats", job.formats);
  fields.take("left_on", job.left_on);
  fields.take("right_on", job.right_on);
  fields.take("how", how);
  fields.take("method", method);
  fields.take("presorted", job.presorted);
  fields.take("count_only", job.count_only);
  fields.take("layout", job.layout);
  fields.take("separator", job.separator);
  fields.take("filler", job.filler);
  fields.take("header", job.header);
  fields.take("empty_keys_match", job.empty_keys_match);
  fields.take("nulls", job.nulls);
  fields.take("escape", job.escape);
  fields.take("comment", job.comment);
  fields.take("ignore_case", job.ignore_case);
  fields.take("zero_terminated", job.zero_terminated);
  fields.take("malformed", job.malformed);
  fields.take("rejects", job.rejects);
  fields.take("max_rejects", job.max_rejects);
  fields.take("quotes", job.quotes);
  fields.take("suffixes", job.suffixes);
  fields.take("verify", job.verify);
  fields.check_all_taken();
  job.how = join_kind_of(how);
  job.method = choice_of<JoinMethod>("a method", method,
                                     {{"auto", JoinMethod::automatic},
                                      {"sort-merge", JoinMethod::sort_merge},
                                      {"hash", JoinMethod::hash}});
  job.progress = &work.progress;
  const resources shared = means.make(work.stop.get_token());
  JoinReport done;
  work.run([&] { done = join_files(job, shared); }, callback);

  nb::dict report = report_of(done);
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
  return report;
}

}  // namespace

void bind_files(nb::module_& m) {
  m.def("sort_files", sort_files_of, nb::arg("means"), nb::arg("progress").none(), nb::arg("job"));
  m.def("join_files", join_files_of, nb::arg("means"), nb::arg("progress").none(), nb::arg("job"));
  // Folders of parts among the inputs that Python reads itself.
  m.def("check_parts", check_parts, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace xxl::python
