#include "bindings.h"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "array_keys.h"
#include "base/machine_limits.h"
#include "base/thread.h"
#include "base/units.h"
#include "choices.h"
#include "means.h"
#include "text.h"
#include "xxl/array.h"

namespace xxl::python {
namespace {

constexpr std::size_t kPairsAtOnce = std::size_t{1} << 18;

// Arrays come as an address and a number of bytes; Python's side has checked that they are there.
// Nothing here can be stopped: signals are handled when the call is over.

// Key parts as (offset, bytes, kind, descending).
using KeyArgument = std::vector<std::tuple<std::size_t, std::size_t, std::string, bool>>;

std::vector<ArrayKeyPart> parts_of(const KeyArgument& parts) {
  std::vector<ArrayKeyPart> result;
  for (const auto& [offset, bytes, kind, descending] : parts) {
    result.push_back({offset, bytes, kind, descending});
  }
  return result;
}

std::span<std::byte> bytes_at(std::uintptr_t address, std::size_t bytes) {
  return {reinterpret_cast<std::byte*>(address), bytes};
}

array_options options_of(const std::string& device, const std::vector<unsigned>& gpus,
                         unsigned threads) {
  return {.device = device_of(device),
          .gpus = gpus,
          .threads = threads != 0 ? threads : available_processors()};
}

nb::dict dict_of(const array_report& report) {
  nb::dict dict;
  dict["devices"] = nb::tuple(nb::cast(report.devices));
  dict["no_gpu"] = report.no_gpu;
  dict["seconds"] = report.seconds;
  return dict;
}

array_report sort_bytes(std::span<const std::byte> from, std::span<std::byte> to,
                        std::size_t record_bytes, const std::vector<ArrayKeyPart>& parts,
                        const array_options& options) {
  const ReplacedKeys keys(parts, record_bytes, from, options.threads);
  ::xxl::detail::ArraySorterCore sorter(record_bytes, keys.key(), options);
  if (!keys.any()) return sorter.sort(from, to);
  if (from.data() != to.data()) std::memcpy(to.data(), from.data(), from.size());
  keys.replace(to);
  try {
    const array_report report = sorter.sort(to, to);
    keys.put_back(to);
    return report;
  } catch (...) {
    keys.put_back(to);
    throw;
  }
}

nb::dict sort_array_of(std::uintptr_t from, std::uintptr_t to, std::size_t bytes,
                       std::size_t record_bytes, const KeyArgument& parts,
                       const std::string& device, const std::vector<unsigned>& gpus,
                       unsigned threads) {
  const array_options options = options_of(device, gpus, threads);
  const std::vector<ArrayKeyPart> key = parts_of(parts);
  array_report report;
  {
    nb::gil_scoped_release release;
    report = sort_bytes(bytes_at(from, bytes), bytes_at(to, bytes), record_bytes, key, options);
  }
  return dict_of(report);
}

// Pairs of places, until they have been written to arrays.
struct Pairs {
  array_join join;
  unsigned threads;

  std::size_t rows() const { return join.pairs.size(); }
  // To arrays of int64, -1 for none. 0 is no array.
  void write(std::uintptr_t left, std::uintptr_t right) const {
    nb::gil_scoped_release release;
    auto* const r = reinterpret_cast<std::int64_t*>(left);
    auto* const s = reinterpret_cast<std::int64_t*>(right);
    run_numbered(threads, ceil_div(rows(), kPairsAtOnce), [&](unsigned, std::size_t number) {
      const std::size_t first = number * kPairsAtOnce;
      const std::size_t end = std::min(first + kPairsAtOnce, rows());
      for (std::size_t i = first; i < end; ++i) {
        r[i] = static_cast<std::int64_t>(join.pairs[i].r);
        if (s != nullptr) s[i] = static_cast<std::int64_t>(join.pairs[i].s);
      }
    });
  }
};
static_assert(static_cast<std::int64_t>(index_pair::kNone) == -1);

// An array as (address, bytes, bytes of a record, key parts).
using ArrayArgument = std::tuple<std::uintptr_t, std::size_t, std::size_t, KeyArgument>;

::xxl::detail::JoinedArray joined_array(const ArrayArgument& side) {
  const auto& [address, bytes, record_bytes, parts] = side;
  return {bytes_at(address, bytes), record_bytes, key_parts(parts_of(parts))};
}

Pairs join_arrays_of(const ArrayArgument& left, const ArrayArgument& right, const std::string& how,
                     const std::string& device, const std::vector<unsigned>& gpus,
                     unsigned threads) {
  const array_options options = options_of(device, gpus, threads);
  const ::xxl::detail::JoinedArray r = joined_array(left), s = joined_array(right);
  const JoinKind kind = join_kind_of(how);
  nb::gil_scoped_release release;
  return {::xxl::detail::join(r, s, kind, options), options.threads};
}

}  // namespace

void bind_arrays(nb::module_& m) {
  m.def("sort_array", sort_array_of, nb::kw_only(), nb::arg("from_address"), nb::arg("to_address"),
        nb::arg("bytes"), nb::arg("record_bytes"), nb::arg("parts"), nb::arg("device"),
        nb::arg("gpus"), nb::arg("threads"));
  nb::class_<Pairs>(m, "Pairs")
      .def_prop_ro("rows", &Pairs::rows)
      .def("write", &Pairs::write, nb::arg("left"), nb::arg("right"))
      .def_prop_ro("report", [](const Pairs& self) { return dict_of(self.join.report); })
      .def_prop_ro("matched", [](const Pairs& self) {
        return nb::make_tuple(self.join.report.matched_r, self.join.report.matched_s);
      });
  m.def("join_arrays", join_arrays_of, nb::kw_only(), nb::arg("left"), nb::arg("right"),
        nb::arg("how"), nb::arg("device"), nb::arg("gpus"), nb::arg("threads"));
}

}  // namespace xxl::python
