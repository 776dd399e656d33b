// Parts of reports that people and programs read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job/fixed_sort/fixed_sort.h"
#include "report/json.h"

namespace xxl::cli {

[[gnu::format(printf, 2, 3)]] void append_format(std::string& out, const char* format, ...);
// "name:            value", a line.
void append_fact(std::string& out, const char* name, const std::string& value);
// With `digits` digits after the decimal point, which is a point in every locale.
std::string decimal_text(double value, int digits = 2);
// Of a whole, "42 %"; no less than 0, no more than 100.
std::string percent_text(double part);
// "1 pass", "2 passes".
std::string passes_text(unsigned passes);
// Of a result, "" if all is written, or ", the first 7 records" and the like.
std::string range_text(std::uint64_t skip, std::optional<std::uint64_t> limit, const char* record);
// "3:25", "1:02:03".
std::string clock_text(double seconds);
// "4 GiB (4294967296 bytes)".
std::string format_exact(std::uint64_t bytes);
double gb_per_second(std::uint64_t bytes, double seconds);
// An array of texts.
void append_list(Json& json, const char* name, const std::vector<std::string>& values);
// "a, b, c".
std::string list_text(const std::vector<std::string>& names);
// Of an output file that was not replaced.
inline constexpr const char* kWrittenInPlace =
    "written in place: the file could not be replaced without loss";
// Sixteen hexadecimal digits.
std::string hash_text(std::uint64_t hash);

// The peak of memory, and the bytes allowed.
void append_memory(std::string& out, const Measurements& measured, std::uint64_t given_bytes);
// What was written in each scratch directory, as far as that is known.
void append_scratch(std::string& out, const std::vector<std::string>& directories,
                    const Measurements& measured);
void append_scratch(Json& json, const std::vector<std::string>& directories,
                    const Measurements& measured);
// The table of phases, with its head, and the array of the same.
void append_phases(std::string& out, const std::vector<PhaseReport>& phases);
void append_phases(Json& json, const std::vector<PhaseReport>& phases);
// What the GPUs did, a line each, and the array of the same.
void append_devices(std::string& out, const AcceleratorReport& accelerator);
void append_devices(Json& json, const AcceleratorReport& accelerator);

}  // namespace xxl::cli
