#include "base/memory_name.h"

#include <atomic>

#include "base/units.h"

namespace xxl {
namespace {

std::atomic<MemoryName> name_of_process{MemoryName::member};

}  // namespace

void set_memory_name(MemoryName name) {
  name_of_process = name;
}

std::string memory_name() {
  switch (name_of_process) {
    case MemoryName::option:
      return "-S";
    case MemoryName::argument:
      return "memory=";
    case MemoryName::member:
      break;
  }
  return "memory_bytes";
}

std::string memory_given(std::uint64_t bytes) {
  const std::string size = format_bytes(bytes);
  switch (name_of_process) {
    case MemoryName::option:
      return memory_name() + " " + size;
    case MemoryName::argument:
      return memory_name() + size;
    case MemoryName::member:
      break;
  }
  return memory_name() + " (" + size + ")";
}

std::string memory_of_name(std::uint64_t bytes) {
  const bool is_option = name_of_process == MemoryName::option;
  return (is_option ? "the memory of " : "") + memory_name() + " (" + format_bytes(bytes) + ")";
}

std::string memory_to_give(std::uint64_t bytes) {
  const std::uint64_t mebibytes = ceil_div<std::uint64_t>(bytes, kMiB);
  const std::string size = std::to_string(mebibytes) + "M";
  switch (name_of_process) {
    case MemoryName::option:
      return memory_name() + " " + size;
    case MemoryName::argument:
      return memory_name() + size;
    case MemoryName::member:
      break;
  }
  return memory_name() + " = " + std::to_string(mebibytes * kMiB);
}

}  // namespace xxl
