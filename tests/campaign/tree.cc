#include "tree.h"

#include <filesystem>
#include <fstream>

namespace xxl::campaign {
namespace fs = std::filesystem;

Tree read_tree(const std::string& directory) {
  Tree tree;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory)) {
    std::string path = fs::path(entry.path()).lexically_relative(directory).string();
    if (entry.is_directory())
      tree[path + '/'];
    else
      tree[path] = read_file(entry.path().string());
  }
  return tree;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(fs::file_size(path), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file)
    throw fs::filesystem_error("cannot read", path, std::make_error_code(std::errc::io_error));
  return bytes;
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file)
    throw fs::filesystem_error("cannot write", path, std::make_error_code(std::errc::io_error));
}

void write_tree(const std::string& directory, const Tree& tree) {
  fs::remove_all(directory);
  fs::create_directories(directory);
  for (const auto& [path, bytes] : tree) {
    const fs::path full = fs::path(directory) / path;
    if (path.ends_with('/')) {
      fs::create_directories(full);
      continue;
    }
    fs::create_directories(full.parent_path());
    write_file(full.string(), bytes);
  }
}

}  // namespace xxl::campaign
