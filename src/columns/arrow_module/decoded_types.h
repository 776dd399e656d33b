// Dictionary columns of Parquet as the values that they stand for.
//
// A file stores such a column as it stores any other of these values; that it is a dictionary in
// memory only its metadata say. So rows have the values, as those of any other column, and a field
// remembers what it was until it is written:
//
//   file --decoded()--> field of values, marked --rows--> field of values, marked --stored()-->
//   file
//
// Dictionaries whose order is that of their values in the dictionary stay what they are.
#pragma once

#include <arrow/type.h>

#include <memory>

namespace xxl::arrow_module {

// `field`, in which dictionaries at any depth are values.
std::shared_ptr<::arrow::Field> decoded(const std::shared_ptr<::arrow::Field>& field);
std::shared_ptr<::arrow::Schema> decoded(const ::arrow::Schema& schema);
// What it was.
std::shared_ptr<::arrow::Schema> stored(const ::arrow::Schema& schema);

}  // namespace xxl::arrow_module
