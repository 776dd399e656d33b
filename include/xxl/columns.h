// Sorts and joins tables larger than memory: Arrow streams in, Arrow streams out.
//
//   ArrowArrayStream in = ..., out;                             from any library that has them
//   xxl::sort_columns(&in, &out, {.by = {{"user"}, {.column = "time", .descending = true}}},
//                     resources);
//   ... out.get_next(&out, &batch) ...                          batches in order
//
// Key columns may be integers, floats, booleans, decimals, dates, times, timestamps, durations,
// strings and binary of all layouts, dictionaries of these, null. Other columns may also be lists,
// structs, maps and intervals. Unsupported types are refused before a row is read.
//
// Numbers are ordered by value, with NaN above all others, and -0 equal to +0. false comes before
// true. Strings and binary are ordered by bytes. Dictionaries are ordered by their values, and
// ordered ones by the places of these. Rows with equal keys keep their order.
//
// Sources: see xxl/sorter.h. Keys: Graefe, "Implementing Sorting in Database Systems" (2006),
// section 2.1. Rows: the row formats of Arrow's Rust library and of DuckDB.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "xxl/arrow_c.h"
#include "xxl/error.h"
#include "xxl/export.h"
#include "xxl/job.h"
#include "xxl/join_kind.h"
#include "xxl/resources.h"

namespace xxl {

// A column to sort by.
struct column_key {
  std::string column;        // name of the column
  bool descending = false;   // highest values first
  bool nulls_first = false;  // otherwise nulls are last, in either direction
};

// A sort.
struct column_sort_options {
  std::vector<column_key> by = {};          // the first counts most
  std::uint64_t skip = 0;                   // number of leading rows to leave out
  std::optional<std::uint64_t> limit = {};  // most rows to give after that
  bool unique = false;                      // only the first row of each key
  // Most rows of an output batch.
  std::uint64_t batch_rows = std::uint64_t{1} << 16;
  // Whether the input batches are parts of a table in memory, which does not count. Otherwise each
  // batch counts as memory of the resources.
  bool in_memory = false;
  // Called after each input batch with the rows so far. May be empty. An exception ends the job.
  std::function<void(std::uint64_t rows)> on_batch = {};
  Progress* progress = nullptr;     // must live as long as the stream; may be null
  std::uint64_t expected_rows = 0;  // number of input rows, if known: the total of `progress`
  // Filled in at the end of the stream. Must live as long as the stream. May be null.
  Measurements* measurements = nullptr;
  // Returns how much was read from files for `in` and written to files from `out`. It is added to
  // the phases of `measurements`. May be empty. Any thread may call it while the stream exists.
  std::function<FileTraffic()> file_traffic = {};
};

// A join. Rows match if all of their keys are equal; null equals nothing.
struct column_join_options {
  std::vector<std::string> left_on = {};   // key columns of the left table
  std::vector<std::string> right_on = {};  // key columns of the right table
  JoinKind how = JoinKind::inner;          // rows to write
  // automatic: a hash table of the right table if it fits in half of the memory, otherwise
  // sort_merge. If the left table has dictionaries: sort_merge.
  JoinMethod method = JoinMethod::automatic;
  JoinMethod* used_method = nullptr;  // set to the method that was used; may be null
  std::string suffix = "_right";  // suffix of right columns whose name the left table has as well
  // The members below are those of column_sort_options.
  std::uint64_t batch_rows = std::uint64_t{1} << 16;
  bool in_memory = false;                                    // both tables are in memory
  std::function<void(std::uint64_t rows)> on_batch = {};     // rows of one table so far
  Progress* progress = nullptr;                              // may be null
  std::array<std::uint64_t, kJoinSides> expected_rows = {};  // rows of the left and the right table
  Measurements* measurements = nullptr;                      // may be null
  std::function<FileTraffic()> file_traffic = {};            // may be empty
};

// Sorts the rows of `in`. The call reads `in` to its end and releases it, even if it throws. `out`
// then gives the rows in batches, with the schema of `in`. Release `out` to give its part of
// `shared` back. One thread at a time may use it. On an error, get_next returns an errno value
// (ENOSPC, ENOMEM, ECANCELED, EINVAL for input that cannot be sorted, EIO), and get_last_error says
// what is wrong.
//
// Throws Error{usage} for a missing column or an unsupported type, before anything is read. Throws
// Error{bad_input} for batches that do not match their schema, and Error{no_space} for a batch
// larger than the memory. An error of `in` becomes Error{io} with its errno.
XXL_API void sort_columns(ArrowArrayStream* in, ArrowArrayStream* out,
                          const column_sort_options& options, const resources& shared);

// Joins two tables in the same way. `right` is read first. With sort_merge, `left` is read before
// this returns, and rows come in the order of their keys. With hash, `left` is read while rows are
// pulled. Rows then come in its order, and unmatched right rows last. A row has the columns of the
// left table, then the others of the right table. Key columns appear once, with the left name, in a
// type that holds the values of both. Semi and anti joins have the left columns only.
XXL_API void join_columns(ArrowArrayStream* left, ArrowArrayStream* right, ArrowArrayStream* out,
                          const column_join_options& options, const resources& shared);

}  // namespace xxl
