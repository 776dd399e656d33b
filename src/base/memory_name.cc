#include "base/memory_name.h"

#include <atomic>
#include <string_view>

#include "base/units.h"

namespace xxl {
namespace {

std::atomic<MemoryName> name_of_process{MemoryName::member};

struct Words {
  std::string_view name;
  std::string_view within;          // in front of the name, within a sentence
  std::string_view before, behind;  // what is given
  std::string_view before_what_to_give;
};

Words words() {
  switch (name_of_process) {
    case MemoryName::option:
      return {"-S", "the memory of ", " ", "", " "};
    case MemoryName::argument:
      return {"memory=", "", "", "", ""};
    case MemoryName::member:
      break;
  }
  return {"memory_bytes", "", " (", ")", " = "};
}

}  // namespace

void set_memory_name(MemoryName name) {
  name_of_process = name;
}

std::string memory_name() {
  return std::string(words().name);
}

std::string memory_given(std::uint64_t bytes) {
  const Words given = words();
  return memory_name().append(given.before).append(format_bytes(bytes)).append(given.behind);
}

std::string memory_of_name(std::uint64_t bytes) {
  return std::string(words().within) + memory_name() + " (" + format_bytes(bytes) + ")";
}

std::string memory_to_give(std::uint64_t bytes) {
  const std::uint64_t mebibytes = ceil_div<std::uint64_t>(bytes, kMiB);
  const bool in_bytes = name_of_process == MemoryName::member;
  return memory_name()
      .append(words().before_what_to_give)
      .append(in_bytes ? std::to_string(mebibytes * kMiB) : std::to_string(mebibytes) + "M");
}

}  // namespace xxl
