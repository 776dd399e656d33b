#include "job/part_directory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "base/units.h"
#include "io/file.h"
#include "io/transfer.h"

namespace xxl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoFile = "is not a regular file";

// Throws Error{bad_input} for pipes, which nobody may write, and the like.
struct stat status_of(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) throw_io_error(errno, Operation::open_input, path);
  if (!S_ISREG(status.st_mode)) throw Error(ErrorCode::bad_input, kNoFile, path);
  return status;
}

// None if there is no such file.
std::optional<std::string> text_of(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (fd < 0) throw_io_error(errno, Operation::open_input, path);
  const io::File file(fd, path, false);
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::bad_input, kNoFile, path);
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > kMostManifestBytes) {
    throw Error(ErrorCode::bad_input,
                "is not a valid manifest of parts: it has " + format_bytes(size) + ", and one of " +
                    std::to_string(kMostParts) + " parts has at most " +
                    format_bytes(kMostManifestBytes) + " (files can also be given by name)",
                path);
  }
  const auto bytes = io::read_bytes(file, 0, static_cast<std::size_t>(size));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::optional<PartManifest> parsed_manifest(const std::string& directory) {
  const std::string path = path_in(directory, kManifestName);
  const auto text = text_of(path);
  if (!text) return std::nullopt;
  return parse_manifest(*text, path);
}

void check_size(const PartManifest::Part& part, const std::string& path) {
  const auto bytes = static_cast<std::uint64_t>(status_of(path).st_size);
  if (bytes == part.bytes) return;
  throw Error(ErrorCode::bad_input,
              "is " + std::to_string(bytes) +
                  " bytes long, but the manifest of its directory says " +
                  std::to_string(part.bytes) + ": it was changed after it was written",
              path);
}

// The entries of `directory`. Those in a directory NAME=VALUE follow it as NAME=VALUE/FILE.
std::vector<std::string> names_in(const std::string& directory, bool with_inner = true) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    names.push_back(name);
    std::error_code ignored;
    if (!with_inner || name.find('=') == name.npos || !entry->is_directory(ignored)) continue;
    for (const std::string& file : names_in(entry->path(), false)) {
      names.push_back(path_in(name, file));
    }
  }
  if (error) throw_io_error(error.value(), "cannot list this directory", directory);
  return names;
}

// The name of the file `path` in its directory.
std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// A file that is called like the parts of `manifest` is one of them.
void check_all_are_known(const PartManifest& manifest, const std::string& directory) {
  std::set<std::string> known, endings;
  for (const PartManifest::Part& part : manifest.parts) {
    known.insert(part.file);
    if (const auto ending = ending_of_part(file_name(part.file))) endings.insert(*ending);
  }
  for (const std::string& name : names_in(directory)) {
    const auto ending = ending_of_part(file_name(name));
    if (!ending || !endings.contains(*ending) || known.contains(name)) continue;
    throw Error(ErrorCode::bad_input,
                "is called like a part, but is not in the manifest of its directory: move it away, "
                "or give the files by name",
                path_in(directory, name));
  }
}

void check_files(const PartManifest& manifest, const std::string& directory) {
  for (const PartManifest::Part& part : manifest.parts) {
    check_size(part, path_in(directory, part.file));
  }
  check_all_are_known(manifest, directory);
}

bool is_directory(const std::string& path) {
  std::error_code error;
  return path != "-" && fs::is_directory(path, error);
}

}  // namespace

std::string path_in(const std::string& directory, const std::string& file) {
  return directory + (directory.ends_with('/') ? "" : "/") + file;
}

std::optional<PartManifest> read_manifest(const std::string& directory) {
  auto manifest = parsed_manifest(directory);
  if (manifest) check_files(*manifest, directory);
  return manifest;
}

// Empty files say nothing; of several, one is enough.
std::vector<std::string> with_parts(std::vector<std::string> paths) {
  std::vector<std::string> result;
  result.reserve(paths.size());
  for (std::string& path : paths) {
    const auto manifest = is_directory(path) ? read_manifest(path) : std::nullopt;
    if (!manifest) {
      result.push_back(std::move(path));
      continue;
    }
    const std::size_t before = result.size();
    for (const PartManifest::Part& part : manifest->parts) {
      const bool is_last = &part == &manifest->parts.back();
      if (part.bytes == 0 && !(is_last && result.size() == before)) continue;
      result.push_back(path_in(path, part.file));
    }
  }
  return result;
}

void check_parts(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (!is_directory(path)) continue;
    const std::string manifest = path_in(path, kManifestName);
    const auto text = text_of(manifest);
    if (text && is_meant_as_manifest(*text)) check_files(parse_manifest(*text, manifest), path);
  }
}

void check_replaceable_parts(const std::string& directory) {
  constexpr const char* kWhatToDo =
      ", so it is not replaced by parts: remove it, or give another name";
  const auto manifest = parsed_manifest(directory);
  if (!manifest) {
    throw Error(ErrorCode::io, std::string("is a directory without parts") + kWhatToDo, directory);
  }
  std::set<std::string> known{kManifestName};
  for (const PartManifest::Part& part : manifest->parts) {
    known.insert(part.file);
    known.insert(part.file.substr(0, part.file.find('/')));
  }
  for (const std::string& name : names_in(directory)) {
    if (known.contains(name)) continue;
    throw Error(ErrorCode::io,
                "holds other files than its parts (" + quote_controls(name) + ")" + kWhatToDo,
                directory);
  }
}

}  // namespace xxl
