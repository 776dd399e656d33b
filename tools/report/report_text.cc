#include "report/report_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "base/quote.h"
#include "base/units.h"

namespace xxl::cli {

void append_format(std::string& out, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char* text = nullptr;
  const int bytes = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (bytes < 0) throw std::bad_alloc();
  out.append(text, static_cast<std::size_t>(bytes));
  std::free(text);
}

void append_fact(std::string& out, const char* name, const std::string& value) {
  append_format(out, "%-16s ", name);
  out.append(value).append("\n");
}

std::string decimal_text(double value, int digits) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits);
  return end.ec == std::errc{} ? std::string(text, end.ptr) : "-";
}

std::string percent_text(double part) {
  return decimal_text(100 * std::clamp(part, 0.0, 1.0), 0) + " %";
}

std::string passes_text(unsigned passes) {
  return std::to_string(passes) + (passes == 1 ? " pass" : " passes");
}

std::string range_text(std::uint64_t skip, std::optional<std::uint64_t> limit, const char* record) {
  std::string text;
  if (skip != 0) text = ", without the first " + format_count(skip, record);
  if (limit)
    text += ", the " + std::string(skip != 0 ? "next " : "first ") + format_count(*limit, record);
  return text;
}

std::string clock_text(double seconds) {
  const auto total = static_cast<std::uintmax_t>(std::llround(seconds));
  char text[48];
  if (total >= 3600) {
    std::snprintf(text, sizeof text, "%ju:%02ju:%02ju", total / 3600, total / 60 % 60, total % 60);
  } else {
    std::snprintf(text, sizeof text, "%ju:%02ju", total / 60, total % 60);
  }
  return text;
}

std::string format_exact(std::uint64_t bytes) {
  return format_bytes(bytes) + " (" + std::to_string(bytes) + " bytes)";
}

double gb_per_second(std::uint64_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) / seconds / 1e9 : 0;
}

std::string list_text(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    out.append(out.empty() ? "" : ", ").append(quote_controls(name));
  }
  return out;
}

void append_list(Json& json, const char* name, const std::vector<std::string>& values) {
  json.begin_array(name);
  for (const std::string& value : values) json.element(value);
  json.end_array();
}

std::string hash_text(std::uint64_t hash) {
  char text[24];
  std::snprintf(text, sizeof text, "%016jx", static_cast<std::uintmax_t>(hash));
  return text;
}

void append_scratch(std::string& out, const std::vector<std::string>& directories,
                    const Measurements& measured) {
  for (std::size_t i = 0; i < measured.scratch_bytes_written_per_dir.size(); ++i) {
    append_fact(out, "",
                format_bytes(measured.scratch_bytes_written_per_dir[i]) + " written in " +
                    quote_controls(directories.at(i)));
  }
}

void append_scratch(Json& json, const std::vector<std::string>& directories,
                    const Measurements& measured) {
  json.begin_array("scratch");
  for (std::size_t i = 0; i < measured.scratch_bytes_written_per_dir.size(); ++i) {
    json.begin_object()
        .member("directory", directories.at(i))
        .member("bytes_written", measured.scratch_bytes_written_per_dir[i])
        .end_object();
  }
  json.end_array();
}

void append_memory(std::string& out, const Measurements& measured, std::uint64_t given_bytes) {
  append_fact(out, "memory:",
              format_bytes(measured.peak_memory_bytes) + " at most, " + format_bytes(given_bytes) +
                  " and " + format_bytes(kMemoryConstantBytes) + " for the program allowed");
}

void append_phases(std::string& out, const std::vector<PhaseReport>& phases) {
  append_format(out, "\n%-16s %8s %10s %10s %7s %9s %10s %9s\n", "phase", "seconds", "read",
                "written", "GB/s", "read wait", "write wait", "busy");
  for (const PhaseReport& phase : phases) {
    const double rate = gb_per_second(phase.bytes_read + phase.bytes_written, phase.seconds);
    append_format(out, "%-16s %8s %10s %10s %7s %9s %10s %9s\n", phase.name.c_str(),
                  decimal_text(phase.seconds).c_str(), format_bytes(phase.bytes_read).c_str(),
                  format_bytes(phase.bytes_written).c_str(), decimal_text(rate).c_str(),
                  decimal_text(phase.read_wait_seconds).c_str(),
                  decimal_text(phase.write_wait_seconds).c_str(),
                  decimal_text(phase.worker_busy_seconds).c_str());
  }
}

void append_phases(Json& json, const std::vector<PhaseReport>& phases) {
  json.begin_array("phases");
  for (const PhaseReport& phase : phases) {
    json.begin_object()
        .member("name", phase.name)
        .member("seconds", phase.seconds)
        .member("bytes_read", phase.bytes_read)
        .member("bytes_written", phase.bytes_written)
        .member("gb_per_second",
                gb_per_second(phase.bytes_read + phase.bytes_written, phase.seconds))
        .member("read_wait_seconds", phase.read_wait_seconds)
        .member("write_wait_seconds", phase.write_wait_seconds)
        .member("worker_busy_seconds", phase.worker_busy_seconds)
        .end_object();
  }
  json.end_array();
}

void append_devices(std::string& out, const AcceleratorReport& accelerator) {
  for (const auto& device : accelerator.devices) {
    append_fact(out, "",
                device.name + ": sorting " + decimal_text(device.sort_seconds) + " s, copies in " +
                    decimal_text(device.in_seconds) + " s, out " +
                    decimal_text(device.out_seconds) + " s");
  }
}

void append_devices(Json& json, const AcceleratorReport& accelerator) {
  json.begin_array("devices");
  for (const auto& device : accelerator.devices) {
    json.begin_object()
        .member("name", device.name)
        .member("sort_seconds", device.sort_seconds)
        .member("copy_in_seconds", device.in_seconds)
        .member("copy_out_seconds", device.out_seconds)
        .end_object();
  }
  json.end_array();
}

}  // namespace xxl::cli
