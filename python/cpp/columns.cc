#include "columns.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrow_parts.h"
#include "errors.h"
#include "join_kinds.h"
#include "means.h"
#include "stream.h"
#include "xxl/columns.h"

namespace xxl::python {
namespace {

constexpr std::int64_t kSliceRows = std::int64_t{1} << 16;  // of a batch that is in memory

// A table by Arrow's PyCapsule interface. Large batches that are in memory anyway are sorted in
// slices, so that they need not fit into the memory of the sort.
Owned<ArrowArrayStream> stream_of_table(nb::handle table, bool in_memory) {
  Owned<ArrowArrayStream> stream;
  if (nb::hasattr(table, "__arrow_c_stream__")) {
    stream = take_stream(table.attr("__arrow_c_stream__")());
  } else {
    const auto [schema, batch] =
        nb::cast<std::tuple<nb::object, nb::object>>(table.attr("__arrow_c_array__")());
    stream = stream_of(take_schema(schema), take_array(batch));
  }
  return in_memory ? slice_batches(std::move(stream), kSliceRows) : std::move(stream);
}

// Keys as (name, descending, nulls first).
using Keys = std::vector<std::tuple<std::string, bool, bool>>;

template <class Options>
void watch(ColumnJob& job, Options& options) {
  options.progress = &job.work.progress;
  options.measurements = &job.measured;
  options.file_traffic = [&outside = job.traffic] { return outside.tell(); };
}

std::unique_ptr<Stream> sort_columns_of(nb::handle table, bool in_memory, const Keys& by,
                                        std::optional<std::uint64_t> limit, bool unique,
                                        std::optional<std::uint64_t> batch_rows,
                                        std::uint64_t expected_rows,
                                        const std::shared_ptr<Traffic>& traffic, const Means& means,
                                        nb::object callback) {
  auto job = std::make_unique<ColumnJob>(traffic);
  column_sort_options options;
  watch(*job, options);
  options.expected_rows = expected_rows;
  options.in_memory = in_memory;
  if (batch_rows) options.batch_rows = *batch_rows;
  for (const auto& [name, descending, nulls_first] : by) {
    options.by.push_back({.column = name, .descending = descending, .nulls_first = nulls_first});
  }
  options.limit = limit;
  options.unique = unique;
  const resources shared = means.make(job->work.stop.get_token());
  Owned<ArrowArrayStream> in = stream_of_table(table, in_memory);
  job->work.run([&] { sort_columns(in.get(), job->rows.get(), options, shared); }, callback);
  return std::make_unique<Stream>(std::move(job), std::move(callback));
}

std::unique_ptr<Stream> join_columns_of(nb::handle left, nb::handle right, bool left_in_memory,
                                        bool right_in_memory, std::vector<std::string> left_on,
                                        std::vector<std::string> right_on, const std::string& how,
                                        const std::string& method, std::string suffix,
                                        std::optional<std::uint64_t> batch_rows,
                                        std::array<std::uint64_t, kJoinSides> expected_rows,
                                        const std::shared_ptr<Traffic>& traffic, const Means& means,
                                        nb::object callback) {
  auto job = std::make_unique<ColumnJob>(traffic);
  column_join_options options;
  watch(*job, options);
  options.expected_rows = expected_rows;
  // Of both: else batches of one side could be more than was thought of.
  options.in_memory = left_in_memory && right_in_memory;
  if (batch_rows) options.batch_rows = *batch_rows;
  options.left_on = std::move(left_on);
  options.right_on = std::move(right_on);
  options.kind = join_kind_of(how);
  options.method = join_method_of(method);
  options.suffix = std::move(suffix);
  const resources shared = means.make(job->work.stop.get_token());
  Owned<ArrowArrayStream> left_in = stream_of_table(left, left_in_memory);
  Owned<ArrowArrayStream> right_in = stream_of_table(right, right_in_memory);
  job->work.run(
      [&] { join_columns(left_in.get(), right_in.get(), job->rows.get(), options, shared); },
      callback);
  return std::make_unique<Stream>(std::move(job), std::move(callback));
}

}  // namespace

void bind_columns(nb::module_& m) {
  m.def("sort_columns", sort_columns_of, nb::arg("table"), nb::kw_only(), nb::arg("in_memory"),
        nb::arg("by"), nb::arg("limit").none(), nb::arg("unique"), nb::arg("batch_rows").none(),
        nb::arg("expected_rows"), nb::arg("traffic").none(), nb::arg("means"),
        nb::arg("progress").none());
  m.def("join_columns", join_columns_of, nb::arg("left"), nb::arg("right"), nb::kw_only(),
        nb::arg("left_in_memory"), nb::arg("right_in_memory"), nb::arg("left_on"),
        nb::arg("right_on"), nb::arg("how"), nb::arg("method"), nb::arg("suffix"),
        nb::arg("batch_rows").none(), nb::arg("expected_rows"), nb::arg("traffic").none(),
        nb::arg("means"), nb::arg("progress").none());
}

}  // namespace xxl::python
