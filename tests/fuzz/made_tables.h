// Tables of any types out of the bytes that a fuzz target is given, whole or damaged.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "columns/arrow_test_support.h"
#include "fuzz_input.h"

namespace xxl::fuzz {

struct Type {
  std::string format;  // as Arrow's C data interface has it
  bool nullable = false;
  std::size_t size = 0;  // a width; of lists of fixed size their length
  std::vector<Type> children = {};
  std::vector<Type> dictionary = {};
};

// An array, and the text of each of its values: "-" for nulls.
struct Made {
  test::Column column;
  std::vector<std::string> cells;
};

// How cells have bytes.
std::string hexadecimal(std::string_view bytes);

Type make_type(Input& input);
// Of `rows` values.
Made make_array(Input& input, const Type& type, std::size_t rows);

// Does something to it that view_of() checks: not that buffers are as large as they must be.
void damage(test::Column& table, Input& input);

}  // namespace xxl::fuzz
