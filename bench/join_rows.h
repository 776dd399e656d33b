// What the programs that make relations and check joins of them share: rows, and a sum of them that
// owes nothing to the library.
#pragma once

#include <cstdint>

namespace xxl::bench {

// A row of the inner join of two relations of keys and values.
struct JoinRow {
  std::uint64_t key, r_value, s_value;
};

// Of all rows together, in any order; bench/join.py has the same.
struct RowSum {
  std::uint64_t rows = 0;
  std::uint64_t sum = 0;

  void add(const JoinRow& row) {
    std::uint64_t x =
        row.key + row.r_value * 0x9e3779b97f4a7c15u + row.s_value * 0xd1342543de82ef95u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    sum += x ^ (x >> 31);
    ++rows;
  }
};

}  // namespace xxl::bench
