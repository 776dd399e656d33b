#include "record/record_key.h"

namespace xxl {

// Both keys agree in their kept parts.
int RecordKey::compare_rest(const RecordKey& other) const {
  return compare_keys(*keys_, record_, *other.keys_, other.record_);
}

}  // namespace xxl
