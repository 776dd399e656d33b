// Directories of the campaign and what is in them.
#pragma once

#include <map>
#include <string>

namespace xxl::campaign {

// Path, relative to the directory, and bytes of every file in and below it; directories end with
// '/' and have no bytes.
using Tree = std::map<std::string, std::string>;

Tree read_tree(const std::string& directory);

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

// Makes the directory hold exactly this.
void write_tree(const std::string& directory, const Tree& tree);

}  // namespace xxl::campaign
