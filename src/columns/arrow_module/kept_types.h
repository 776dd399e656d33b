// Types of Parquet that those of Arrow do not tell: an interval, a time in UTC, a decimal that is
// stored as an integer, ...
//
//   file --with_kept_types()--> columns, with metadata --rows--> columns --file_schema()--> file
//
// The metadata of a column are two columns of Parquet: the one that Arrow's library would write of
// it, and the one that the file has. Where it would still write the first one, the second is
// written. (Joins may change the type of a column.)
#pragma once

#include <arrow/type.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <memory>
#include <string>
#include <vector>

namespace xxl::arrow_module {

// `schema`, which was read from a file of the columns `stored`.
std::shared_ptr<::arrow::Schema> with_kept_types(const ::arrow::Schema& schema,
                                                 const ::parquet::SchemaDescriptor& stored);
std::shared_ptr<::arrow::Schema> without_kept_types(const ::arrow::Schema& schema);

// The columns of the file that `schema`, with kept types, is written to.
std::shared_ptr<::parquet::schema::GroupNode> file_schema(
    const ::arrow::Schema& schema, const ::parquet::WriterProperties& properties,
    const ::parquet::ArrowWriterProperties& arrow_properties);

// Of each leaf of `stored`, the type if Arrow's does not tell it; empty if it does.
std::vector<std::string> untold_types(const ::parquet::SchemaDescriptor& stored);

}  // namespace xxl::arrow_module
