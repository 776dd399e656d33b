// Arrays that several hold.
#pragma once

#include <memory>

#include "xxl/arrow_c.h"

namespace xxl {

// An empty array to be filled in, which is released when nobody holds it any longer.
inline std::shared_ptr<ArrowArray> shared_array() {
  return {new ArrowArray{}, [](ArrowArray* array) {
            if (array->release != nullptr) array->release(array);
            delete array;
          }};
}

}  // namespace xxl
