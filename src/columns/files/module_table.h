// The seam between the program and its optional module, libxxl_arrow.so, which reads and writes
// Parquet and Arrow IPC files with the C++ library of Apache Arrow.
//
//   program  --- dlopen, xxl_arrow_module() --->  ModuleTable
//            --- open_source(files) ----------->  ExaminedFiles --> ArrowArrayStream, to be sorted
//            --- write_target(ArrowArrayStream, write) ---->  calls write() with the file's bytes
//
// Only plain structures and functions cross it, so that neither side links with the other: the
// program runs without the module, and the module with any program that asks for the same version.
// No exception crosses it. Texts are ended by a zero byte.
#pragma once

#include <cstdint>

#include "xxl/arrow_c.h"

namespace xxl::module_table {

// To be raised with every change of this header.
inline constexpr std::uint32_t kVersion = 7;
inline constexpr const char* kEntryName = "xxl_arrow_module";

// What went wrong, filled in by functions that return false.
struct Failure {
  std::int32_t code;       // an xxl::ErrorCode
  std::int32_t sys_errno;  // 0: none, or said in the text
  char text[2000];         // names the file, and the place in it
};

enum class Format : std::int32_t {
  parquet,
  ipc_file,    // of a source: a file or a stream, whichever it is
  ipc_stream,  // of a target only
};

struct SourceOptions {
  Format format;
  const char* const* paths;  // "-" is standard input
  std::uint64_t path_count;
  std::uint32_t threads;  // that decode
};

// The first rows in an order are wanted, and no others.
struct FirstRows {
  std::uint64_t limit;
  const char* column;  // that counts most in the order
  std::int32_t descending;
  std::int32_t nulls_first;
};

// One of `count` shares of the rows, about equal, in the order of the files.
struct Share {
  std::uint64_t index;
  std::uint64_t count;
};

// Of rows in memory; batches of a single row may be larger.
struct BatchSizes {
  std::uint64_t read_bytes;   // that are decoded at once, about
  std::uint64_t given_bytes;  // of a batch of the stream, a slice of what was decoded
};

struct SourceFacts {
  std::int32_t rows_known;
  std::uint64_t rows;        // of all files, also those that are left out
  std::uint64_t file_bytes;  // 0 for pipes
  std::uint64_t row_groups;  // of Parquet
  std::uint64_t row_groups_left_out;
  std::uint64_t rows_left_out;
  std::uint64_t reading_bytes;   // memory that reading takes, beside batches and metadata
  std::uint64_t metadata_bytes;  // memory of the metadata of a file, while it is open
  std::uint64_t columns;         // leaves, of nested ones
  std::uint64_t row_bytes;       // most that a row takes, as far as metadata tell
  std::uint64_t all_row_bytes;   // that all rows take, likewise
  std::uint64_t bytes_read;      // so far, each time
  std::uint64_t rows_read;       // so far, by the last stream
  std::int32_t lacks_memory;     // a batch of IPC that must be read as a whole did not fit
};

// A table in one or more files of equal schemas, which have been examined. For one thread at a
// time. The functions are called with the structure itself.
struct ExaminedFiles {
  // The schema that all files have.
  bool (*get_schema)(ExaminedFiles*, ArrowSchema* out, Failure*);
  // Leaves out row groups that certainly have none of these rows.
  bool (*leave_out)(ExaminedFiles*, const FirstRows*, Failure*);
  // Leaves out all rows but those of a share of what was not left out before. All shares together,
  // of the same files, are all rows.
  bool (*take_share)(ExaminedFiles*, const Share*, Failure*);
  // Gives all rows, in the order of the files. The stream must be released before the source, and
  // before the next one: files can be read again, pipes not.
  bool (*start)(ExaminedFiles*, const BatchSizes*, ArrowArrayStream* out, Failure*);
  // Why the stream failed; null if it did not.
  const Failure* (*stream_failure)(ExaminedFiles*);
  void (*get_facts)(ExaminedFiles*, SourceFacts* out);
  // After lacks_memory: about what the largest such batch of the files takes; 0 if that cannot be
  // found out.
  std::uint64_t (*largest_batch)(ExaminedFiles*);
  void (*release)(ExaminedFiles*);
  void* private_data;
};

// A column that the rows are in the order of.
struct SortedBy {
  const char* column;
  std::int32_t descending;
  std::int32_t nulls_first;
};

// Where the rows are cut into files; at most one is set.
struct PartRules {
  std::uint64_t parts;  // so many files of about equal numbers of rows, of `rows` in all
  std::uint64_t rows;   // at most; with fewer the last parts have fewer, or none
  std::uint64_t bytes;  // a file ends with the rows with which it takes so much, about
  const char* column;   // a file for each stretch of equal values; null: not so
};

// What became a file.
struct PartFacts {
  std::uint64_t rows;
  const char* first_key;  // values of the columns of sorted_by, as text; empty without rows
  const char* last_key;
};

struct TargetOptions {
  Format format;
  const char* compression;  // zstd, snappy, lz4, gzip or none
  std::int32_t level;       // of compression; 0: the default
  const SortedBy* sorted_by;
  std::uint64_t sorted_by_count;
  std::uint64_t memory_bytes;  // that writing may take, beside the batches
  std::uint64_t row_group_rows;
  std::uint32_t threads;  // that encode
  // Takes the next bytes of the file. False ends the writing; the caller knows why.
  bool (*write)(void* context, const void* data, std::uint64_t bytes);
  // The file is complete; what is written next belongs to another one. Called for each part, also
  // the last one; not without parts. Returns as write().
  bool (*end_part)(void* context, const PartFacts*);
  void* context;
  PartRules parts;
};

// Of all files.
struct TargetFacts {
  std::uint64_t rows;
  std::uint64_t row_groups;  // of Parquet
  std::uint64_t batches;     // of IPC
};

// What the module can do.
struct ModuleTable {
  std::uint32_t version;  // kVersion; if it differs nothing else may be looked at
  const char* arrow;      // "Apache Arrow 26.0.1"
  bool (*open_source)(const SourceOptions*, ExaminedFiles* out, Failure*);
  // Reads `in` to its end and writes a file, or parts, of it. Does not release it.
  bool (*write_target)(const TargetOptions*, ArrowArrayStream* in, TargetFacts* out, Failure*);
  // Whether `compression` and `level` can be written in this format.
  bool (*check_compression)(Format, const char* compression, std::int32_t level, Failure*);
  // Bounds what reading and writing may take together, batches of sources included, until it is
  // called again: what needs more fails. 0: no bound.
  void (*limit_memory)(std::uint64_t bytes);
  // Most memory that they took so far.
  std::uint64_t (*peak_memory_bytes)();
};

// The one function that the module exports.
using EntryPoint = const ModuleTable* (*)();

}  // namespace xxl::module_table
