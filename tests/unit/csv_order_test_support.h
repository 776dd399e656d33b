// Orders of rows, for tests.
#pragma once

#include <initializer_list>

#include "record/csv_spec.h"

namespace xxl {

inline CsvOrder order_by(std::initializer_list<const char*> keys, bool empty_last = false) {
  CsvOrder order;
  for (const char* key : keys) order.keys.push_back(parse_csv_key(key));
  order.empty_last = empty_last;
  return order;
}

}  // namespace xxl
