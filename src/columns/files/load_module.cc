#include "columns/files/load_module.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/quote.h"

namespace xxl {
namespace {

constexpr const char* kName = "libxxl_arrow.so";
constexpr const char* kHowToGetIt =
    ": install Apache Arrow (scripts/install_packages.sh --columns), build xxl again, and install "
    "its component 'columns' (docs/use/columns.md)";

std::string module_path() {
  const char* given = std::getenv("XXL_MODULE_PATH");
  if (given != nullptr && *given != '\0') return given;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "lib" / "xxl" / kName;
}

const module_table::ModuleTable& load() {
  const std::string path = module_path();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw Error(ErrorCode::usage,
                "files of columns need an optional module, and there is no " + path + kHowToGetIt);
  }
  // Local: its symbols, and those of Arrow, are no one else's.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(ErrorCode::usage,
                std::string("cannot load the module for files of columns: ") + dlerror());
  }
  const auto entry =
      reinterpret_cast<module_table::EntryPoint>(dlsym(library, module_table::kEntryName));
  const module_table::ModuleTable* table = entry != nullptr ? entry() : nullptr;
  if (table == nullptr || table->version != module_table::kVersion) {
    throw Error(ErrorCode::usage,
                "the module " + path + " is not of this version of xxl" + kHowToGetIt);
  }
  return *table;
}

}  // namespace

const module_table::ModuleTable& load_arrow_module() {
  static const module_table::ModuleTable& table = load();
  return table;
}

void throw_failure(const module_table::Failure& failure) {
  // Names of files and columns may be anything.
  throw Error(static_cast<ErrorCode>(failure.code), quote_controls(failure.text), {},
              Error::kNoOffset, failure.sys_errno);
}

}  // namespace xxl
