#include "bindings.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrow_parts.h"
#include "choices.h"
#include "errors.h"
#include "means.h"
#include "stream.h"
#include "text.h"
#include "xxl/columns.h"

namespace xxl::python {
namespace {

constexpr std::int64_t kSliceRows = std::int64_t{1} << 16;  // of a batch that is in memory

// A table as (object, whether its rows are in memory anyway, how many there are, or 0).
using Table = std::tuple<nb::object, bool, std::uint64_t>;

// A table by Arrow's PyCapsule interface. Large batches that are in memory anyway are sorted in
// slices, so that they need not fit into the memory of the sort.
Owned<ArrowArrayStream> stream_of_table(const Table& table) {
  const auto& [object, in_memory, rows] = table;
  Owned<ArrowArrayStream> stream;
  if (nb::hasattr(object, "__arrow_c_stream__")) {
    stream = take<ArrowArrayStream>(object.attr("__arrow_c_stream__")());
  } else {
    const auto [schema, batch] =
        nb::cast<std::tuple<nb::object, nb::object>>(object.attr("__arrow_c_array__")());
    stream = stream_of(take<ArrowSchema>(schema), take<ArrowArray>(batch));
  }
  return in_memory ? slice_batches(std::move(stream), kSliceRows) : std::move(stream);
}

// Keys as (name, descending, nulls first).
using Keys = std::vector<std::tuple<std::string, bool, bool>>;

template <class Options>
void watch(ColumnJob& job, Options& options, std::optional<std::uint64_t> batch_rows) {
  options.progress = &job.work.progress;
  options.measurements = &job.measured;
  options.file_traffic = [&outside = job.traffic] { return outside.tell(); };
  if (batch_rows) options.batch_rows = *batch_rows;
}

std::unique_ptr<Stream> sort_columns_of(const Table& table, const Keys& by,
                                        std::optional<std::uint64_t> limit, bool unique,
                                        std::optional<std::uint64_t> batch_rows,
                                        const std::shared_ptr<Traffic>& traffic, const Means& means,
                                        nb::object callback) {
  auto job = std::make_unique<ColumnJob>(traffic);
  column_sort_options options;
  watch(*job, options, batch_rows);
  std::tie(std::ignore, options.in_memory, options.expected_rows) = table;
  for (const auto& [name, descending, nulls_first] : by) {
    options.by.push_back({.column = name, .descending = descending, .nulls_first = nulls_first});
  }
  options.limit = limit;
  options.unique = unique;
  const resources shared = means.make(job->work.stop.get_token());
  Owned<ArrowArrayStream> in = stream_of_table(table);
  job->work.run([&] { sort_columns(in.get(), job->rows.get(), options, shared); }, callback);
  return std::make_unique<Stream>(std::move(job), std::move(callback));
}

std::unique_ptr<Stream> join_columns_of(const Table& left, const Table& right,
                                        std::vector<std::string> left_on,
                                        std::vector<std::string> right_on, const std::string& how,
                                        const std::string& method, std::string suffix,
                                        std::optional<std::uint64_t> batch_rows,
                                        const std::shared_ptr<Traffic>& traffic, const Means& means,
                                        nb::object callback) {
  auto job = std::make_unique<ColumnJob>(traffic);
  column_join_options options;
  watch(*job, options, batch_rows);
  bool right_in_memory = false;
  std::tie(std::ignore, options.in_memory, options.expected_rows[0]) = left;
  std::tie(std::ignore, right_in_memory, options.expected_rows[1]) = right;
  // Of both: else batches of one side could be more than was thought of.
  options.in_memory &= right_in_memory;
  options.left_on = std::move(left_on);
  options.right_on = std::move(right_on);
  options.how = join_kind_of(how);
  options.method = choice_of<JoinMethod>("method", method,
                                         {{"auto", JoinMethod::automatic},
                                          {"hash", JoinMethod::hash},
                                          {"sort-merge", JoinMethod::sort_merge}});
  options.suffix = std::move(suffix);
  const resources shared = means.make(job->work.stop.get_token());
  Owned<ArrowArrayStream> left_in = stream_of_table(left);
  Owned<ArrowArrayStream> right_in = stream_of_table(right);
  job->work.run(
      [&] { join_columns(left_in.get(), right_in.get(), job->rows.get(), options, shared); },
      callback);
  return std::make_unique<Stream>(std::move(job), std::move(callback));
}

}  // namespace

void bind_columns(nb::module_& m) {
  m.def("sort_columns", sort_columns_of, nb::arg("table"), nb::kw_only(), nb::arg("by"),
        nb::arg("limit").none(), nb::arg("unique"), nb::arg("batch_rows").none(),
        nb::arg("traffic").none(), nb::arg("means"), nb::arg("progress").none());
  m.def("join_columns", join_columns_of, nb::arg("left"), nb::arg("right"), nb::kw_only(),
        nb::arg("left_on"), nb::arg("right_on"), nb::arg("how"), nb::arg("method"),
        nb::arg("suffix"), nb::arg("batch_rows").none(), nb::arg("traffic").none(),
        nb::arg("means"), nb::arg("progress").none());
}

}  // namespace xxl::python
