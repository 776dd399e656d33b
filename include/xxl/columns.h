// Sorts and joins tables of columns, however large: Arrow streams in, Arrow streams out.
//
//   ArrowArrayStream in = ..., out;                             from any library that has them
//   xxl::sort_columns(&in, &out, {.by = {{"user"}, {.column = "time", .descending = true}}},
//                     resources);
//   ... out.get_next(&out, &batch) ...                          batches in order
//
// Columns of keys: integers, floats, booleans, decimals, dates, times, timestamps, durations,
// strings and binary of all layouts, dictionaries of these, null. Other columns also: lists,
// structs, maps, intervals. What is not supported is refused before a row is read.
//
// Order: numbers by value, with NaN above all others, NaNs equal, and -0 equal to +0; false before
// true; strings and binary by their bytes; dictionaries by their values, ordered ones by the places
// of these. Rows with equal keys stay in the order in which they came.
//
// Sources: as of xxl/sorter.h; keys: Graefe, "Implementing Sorting in Database Systems" (2006),
// section 2.1; rows: the row formats of Arrow's Rust library and of DuckDB.
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

// A column that is sorted by.
struct column_key {
  std::string column;        // its name
  bool descending = false;   // highest values first
  bool nulls_first = false;  // else nulls last, whether descending or not
};

// A sort.
struct column_sort_options {
  std::vector<column_key> by = {};          // the first counts most
  std::uint64_t skip = 0;                   // so many of the first rows in order are left out
  std::optional<std::uint64_t> limit = {};  // of the others, only the first
  bool unique = false;                      // of rows with equal keys, the one that came first
  // Most rows of a batch that is given.
  std::uint64_t batch_rows = std::uint64_t{1} << 16;
  // The batches that come are parts of a table that the caller holds in memory anyway, so that they
  // do not count. Else each is memory that its producer takes of that of the resources.
  bool in_memory = false;
  // Called after each batch that was read, with the rows so far; may be empty. What it throws ends
  // the job.
  std::function<void(std::uint64_t rows)> on_batch = {};
  Progress* progress = nullptr;  // updated while running; owned by the caller, who must keep it as
                                 // long as the stream; may be null
  std::uint64_t expected_rows = 0;  // that come, if known: for the total of `progress`
  // Filled in when the stream has no more batches; owned as `progress`; may be null.
  Measurements* measurements = nullptr;
  // Tells how much was read from files for `in`, and written to files from `out`: it is added to
  // the phases of `measurements`. May be empty. Called from any thread while the stream is there.
  std::function<FileTraffic()> file_traffic = {};
};

// A join. Rows match if all of their keys are equal; null equals nothing.
struct column_join_options {
  std::vector<std::string> left_on = {};   // columns of the left table, and
  std::vector<std::string> right_on = {};  // those of the right one that they must equal
  JoinKind kind = JoinKind::inner;         // which rows
  // automatic: a table in memory of the right one, if that fits into half of the memory, whatever
  // the size of the left one; else sort_merge. Where the left one has dictionaries, sort_merge.
  JoinMethod method = JoinMethod::automatic;
  JoinMethod* used_method = nullptr;  // set to which of the two was used; may be null
  std::string suffix = "_right";  // of columns of the right table whose name the left one has, too
  // What follows is as of column_sort_options.
  std::uint64_t batch_rows = std::uint64_t{1} << 16;
  bool in_memory = false;                                    // of both tables
  std::function<void(std::uint64_t rows)> on_batch = {};     // rows of one table so far; not called
                                                             // once join_columns() has returned
  Progress* progress = nullptr;                              // may be null
  std::array<std::uint64_t, kJoinSides> expected_rows = {};  // of the left table, of the right one
  Measurements* measurements = nullptr;                      // may be null
  std::function<FileTraffic()> file_traffic = {};            // may be empty
};

// Sorts the rows of `in`, which is read to its end, and released, also if this throws. `out` then
// gives them in batches; it must be released, and keeps its part of `shared` until then. For one
// thread at a time. Its schema is that of `in`. Its errors: get_next returns an errno value
// (ENOSPC, ENOMEM, ECANCELED, EINVAL for input that cannot be sorted, EIO), get_last_error says
// what was wrong.
//
// Throws Error: usage for a column that is not there or a type that is not supported (before
// anything is read); bad_input for batches that are not what their schema says; no_space for a
// batch larger than the memory; what `in` reports, as io with its errno.
XXL_API void sort_columns(ArrowArrayStream* in, ArrowArrayStream* out,
                          const column_sort_options& options, const resources& shared);

// Joins two tables in the same way; `right` is read first. Of a sort-merge join, rows come in the
// order of their keys, and `left` is read before this returns; of a hash join, in the order of the
// left table, which is read while they are asked for, and last those of the right one alone. A row
// is the columns of the left table, then the others of the right one. Columns that are joined by
// are there once, with the left one's name, and in the type that holds the values of both. Semi and
// anti joins have only the left one's columns.
XXL_API void join_columns(ArrowArrayStream* left, ArrowArrayStream* right, ArrowArrayStream* out,
                          const column_join_options& options, const resources& shared);

}  // namespace xxl
