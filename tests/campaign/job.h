// A job: one command of the program and the files it is given, as data. It can be written down and
// read again (case_file.h), made smaller (shrink.h), and says its own command line.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/record_format.h"

namespace xxl::campaign {

enum class Kind { lines, rows, binary, columns };

// How the program gets an input.
enum class Through { file, standard_input, pipe };

// An input: what is in it follows from this, and from the options of the job (contents.h).
struct Input {
  std::string path;             // below the directory of the job
  std::string shape = "words";  // one of kShapes
  std::uint64_t records = 0;
  std::uint64_t seed = 0;
  bool unended = false;    // text: the last record has no terminator
  bool carriage = false;   // text: records end with CR as well
  bool presorted = false;  // in the order of the job's keys
  Through through = Through::file;
};

// Where the output goes.
enum class Target {
  fresh,            // a file that is not there yet
  replaced,         // one that is
  first_input,      // the first input itself
  standard_output,  // a file
  pipe,
  parts,           // a directory of parts
  replaced_parts,  // one that was there
  none,            // nothing is written: --check
};

struct Job {
  std::string command = "sort";
  std::string operation;               // of set
  std::vector<std::string> options;    // what the result depends on, one argument each
  std::vector<std::string> resources;  // what it must not depend on
  std::vector<Input> inputs;
  Target target = Target::fresh;
  unsigned scratch_directories = 1;
  std::string output_suffix;  // ".gz" and the like, of one file: it is compressed
};

inline constexpr std::string_view kOutput = "out/result";

std::string scratch_directory(unsigned index);
// Of jobs that write a file, or a directory of parts.
std::string output_path(const Job& job);

// The value of the option called `name` ("--key"), for each time it is given.
std::vector<std::string> values_of(const std::vector<std::string>& options, std::string_view name);
// Whether it is given, with a value or without.
bool has(const std::vector<std::string>& options, std::string_view name);
bool has_any(const std::vector<std::string>& options,
             std::initializer_list<std::string_view> names);
// Whether each option has one of the names.
bool has_only(const std::vector<std::string>& options,
              std::initializer_list<std::string_view> names);
// The last value, if there is one.
std::optional<std::string> value_of(const std::vector<std::string>& options, std::string_view name);

// The inputs of a join, R and S, whose records may differ.
enum class Side { r, s };

Kind kind_of(const Job& job);
std::string record_of(const Job& job, Side side = Side::r);
// Of records of binary jobs.
RecordFormat format_of(const Job& job, Side side = Side::r);
Side side_of(const Job& job, const Input& input);
// Of lines, and rows.
char terminator_of(const Job& job);

// The names of files the program is given, in the order of the command line; - is standard input.
std::vector<std::string> operands_of(const Job& job);
// That of the command line: a set operation is one.
std::string name_of_command(const Job& job);
// The whole command line, without the name of the program.
std::vector<std::string> arguments_of(const Job& job);

}  // namespace xxl::campaign
