// How messages name what gives a job more memory: a user of the program has an option for it, one
// of Python an argument, one of C++ a member of the structures of the public headers.
#pragma once

#include <cstdint>
#include <string>

namespace xxl {

enum class MemoryName {
  member,    // memory_bytes = 8388608
  option,    // -S 8M
  argument,  // memory=8M
};

// Sets the name for this process, before its first job. Without this call it is the member.
void set_memory_name(MemoryName name);

// "-S".
std::string memory_name();
// What was given: "-S 8 MiB", in front of "is too small".
std::string memory_given(std::uint64_t bytes);
// The same within a sentence: "the memory of -S (8 MiB)".
std::string memory_of_name(std::uint64_t bytes);
// What to give, rounded up: "-S 8M".
std::string memory_to_give(std::uint64_t bytes);

}  // namespace xxl
