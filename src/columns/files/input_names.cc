#include "columns/files/input_names.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>

#include "base/error.h"

namespace xxl {
namespace {

namespace fs = std::filesystem;

std::vector<std::string_view> endings_of(module_table::Format format) {
  if (format == module_table::Format::parquet) return {".parquet", ".parq", ".pq"};
  return {".arrow", ".arrows", ".feather", ".ipc"};
}

// As other programs do: names with '_' or '.' in front are not data (_SUCCESS, _metadata).
bool is_hidden(const std::string& name) {
  return name.starts_with('.') || name.starts_with('_');
}

void add_directory(const fs::path& directory, module_table::Format format,
                   std::vector<std::string>& files) {
  std::vector<fs::directory_entry> entries;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) entries.push_back(entry);
  if (error) throw_io_error(error.value(), "cannot list this directory", directory.string());
  std::sort(entries.begin(), entries.end());
  const auto endings = endings_of(format);
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (is_hidden(name)) continue;
    if (entry.is_directory(error)) {
      add_directory(entry.path(), format, files);
    } else if (std::ranges::any_of(endings, [&](auto ending) { return name.ends_with(ending); })) {
      files.push_back(entry.path().string());
    }
  }
}

bool is_pattern(const std::string& name) {
  return name.find_first_of("*?[") != std::string::npos;
}

std::vector<std::string> names_that_fit(const std::string& pattern) {
  glob_t found{};
  const std::unique_ptr<glob_t, decltype(&globfree)> owner(&found, globfree);
  const int failed = glob(pattern.c_str(), 0, nullptr, &found);
  if (failed != 0 && failed != GLOB_NOMATCH) {
    throw Error(ErrorCode::io, "the files that fit cannot be listed", pattern);
  }
  const std::span names(found.gl_pathv, found.gl_pathc);
  std::vector<std::string> fitting(names.begin(), names.end());
  std::sort(fitting.begin(), fitting.end());  // by bytes, whatever the locale
  return fitting;
}

void add(const std::string& name, module_table::Format format, std::vector<std::string>& files) {
  std::error_code error;
  if (name != "-" && fs::is_directory(name, error)) {
    const std::size_t before = files.size();
    add_directory(name, format, files);
    if (files.size() == before) {
      std::string endings;
      for (const std::string_view ending : endings_of(format)) endings.append(" ").append(ending);
      throw Error(ErrorCode::usage, "has no files called" + endings, name);
    }
  } else {
    files.push_back(name);
  }
}

}  // namespace

std::vector<std::string> expand_inputs(const std::vector<std::string>& names,
                                       module_table::Format format) {
  std::vector<std::string> files;
  std::error_code error;
  for (const std::string& name : names) {
    if (!is_pattern(name) || fs::exists(name, error)) {
      add(name, format, files);
      continue;
    }
    const std::vector<std::string> fitting = names_that_fit(name);
    if (fitting.empty()) throw Error(ErrorCode::usage, "no file fits this pattern", name);
    for (const std::string& file : fitting) add(file, format, files);
  }
  return files;
}

}  // namespace xxl
