// Tables for tests: columns that own their buffers, streams of them, and what streams give as text.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "columns/column_type.h"
#include "columns/column_view.h"
#include "xxl/arrow_c.h"

namespace xxl::test {

// An array with its schema, as any library might have made it. Copies share nothing.
struct Column {
  std::string name = {};
  std::string format = {};
  bool nullable = true;
  std::int64_t length = 0;
  std::int64_t offset = 0;
  std::int64_t nulls = -1;
  std::vector<std::optional<std::string>> buffers = {};  // bytes; none: null
  std::vector<Column> children = {};
  std::vector<Column> dictionary = {};  // at most one
  bool ordered = false;                 // the dictionary
  std::string metadata = {};            // as it lies in a schema
};

inline std::string bits(const std::vector<bool>& values) {
  std::string bytes((values.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) bytes[i / 8] = static_cast<char>(bytes[i / 8] | (1 << (i % 8)));
  }
  return bytes;
}

template <class T>
std::string bytes_of_values(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Numbers of the type that `format` has.
template <class T>
Column numbers(const std::string& name, const std::string& format,
               const std::vector<std::optional<T>>& values) {
  std::vector<bool> valid;
  std::vector<T> data;
  for (const auto& value : values) {
    valid.push_back(value.has_value());
    data.push_back(value.value_or(T()));
  }
  return {.name = name,
          .format = format,
          .length = static_cast<std::int64_t>(values.size()),
          .buffers = {bits(valid), bytes_of_values(data)}};
}

// Strings with offsets of 32 bits ("u", "z").
inline Column strings(const std::string& name,
                      const std::vector<std::optional<std::string>>& values,
                      const std::string& format = "u") {
  std::vector<bool> valid;
  std::vector<std::int32_t> offsets{0};
  std::string data;
  for (const auto& value : values) {
    valid.push_back(value.has_value());
    data += value.value_or("");
    offsets.push_back(static_cast<std::int32_t>(data.size()));
  }
  return {.name = name,
          .format = format,
          .length = static_cast<std::int64_t>(values.size()),
          .buffers = {bits(valid), bytes_of_values(offsets), data}};
}

// A list of numbers, "+l" of int32.
inline Column lists(const std::string& name,
                    const std::vector<std::vector<std::optional<std::int32_t>>>& values) {
  std::vector<std::int32_t> offsets{0};
  std::vector<std::optional<std::int32_t>> all;
  for (const auto& list : values) {
    all.insert(all.end(), list.begin(), list.end());
    offsets.push_back(static_cast<std::int32_t>(all.size()));
  }
  return {.name = name,
          .format = "+l",
          .length = static_cast<std::int64_t>(values.size()),
          .buffers = {std::nullopt, bytes_of_values(offsets)},
          .children = {numbers<std::int32_t>("item", "i", all)}};
}

// Indices of 8 bits into strings.
inline Column dictionary(const std::string& name, const std::vector<std::optional<std::int8_t>>& of,
                         const std::vector<std::optional<std::string>>& values) {
  Column column = numbers<std::int8_t>(name, "c", of);
  column.dictionary = {strings("", values)};
  return column;
}

// Likewise, whose values are in order.
inline Column ordered(const std::string& name, const std::vector<std::optional<std::int8_t>>& of,
                      const std::vector<std::optional<std::string>>& values) {
  Column column = dictionary(name, of, values);
  column.ordered = true;
  return column;
}

// One pair of metadata.
inline std::string metadata(const std::string& key, const std::string& value) {
  const std::vector<std::int32_t> counts{1, static_cast<std::int32_t>(key.size()),
                                         static_cast<std::int32_t>(value.size())};
  const std::string bytes = bytes_of_values(counts);
  return bytes.substr(0, 8) + key + bytes.substr(8) + value;
}

inline Column table(std::vector<Column> columns) {
  const std::int64_t length = columns.empty() ? 0 : columns.front().length;
  return {.format = "+s",
          .nullable = false,
          .length = length,
          .buffers = {std::nullopt},
          .children = std::move(columns)};
}

// --- exporting ---

struct OwnedColumn {
  Column column;
  std::deque<ArrowArray> arrays;
  std::deque<ArrowSchema> schemas;
  std::vector<const void*> buffers;
  std::vector<ArrowArray*> array_children;
  std::vector<ArrowSchema*> schema_children;
};

inline void export_array(const Column& column, ArrowArray* array) {
  auto owned = std::make_unique<OwnedColumn>();
  owned->column = column;
  *array = {};
  array->length = column.length;
  array->offset = column.offset;
  array->null_count = column.nulls;
  for (const auto& buffer : owned->column.buffers) {
    owned->buffers.push_back(buffer ? buffer->data() : nullptr);
  }
  for (const Column& child : owned->column.children) {
    export_array(child, &owned->arrays.emplace_back());
    owned->array_children.push_back(&owned->arrays.back());
  }
  if (!column.dictionary.empty()) {
    array->dictionary = &owned->arrays.emplace_back();
    export_array(column.dictionary.front(), array->dictionary);
  }
  array->n_buffers = static_cast<std::int64_t>(owned->buffers.size());
  array->buffers = owned->buffers.data();
  array->n_children = static_cast<std::int64_t>(owned->array_children.size());
  array->children = owned->array_children.data();
  // By what it owns, not by what the array says, which tests change.
  array->release = [](ArrowArray* self) {
    std::unique_ptr<OwnedColumn> mine(static_cast<OwnedColumn*>(self->private_data));
    for (ArrowArray& child : mine->arrays) {
      if (child.release != nullptr) child.release(&child);
    }
    self->release = nullptr;
  };
  array->private_data = owned.release();
}

inline void export_schema_of(const Column& column, ArrowSchema* schema) {
  auto owned = std::make_unique<OwnedColumn>();
  owned->column = column;
  *schema = {};
  schema->format = owned->column.format.c_str();
  schema->name = owned->column.name.c_str();
  schema->flags = (column.nullable ? ARROW_FLAG_NULLABLE : 0) |
                  (column.ordered ? ARROW_FLAG_DICTIONARY_ORDERED : 0);
  schema->metadata = owned->column.metadata.empty() ? nullptr : owned->column.metadata.data();
  for (const Column& child : owned->column.children) {
    export_schema_of(child, &owned->schemas.emplace_back());
    owned->schema_children.push_back(&owned->schemas.back());
  }
  if (!column.dictionary.empty()) {
    schema->dictionary = &owned->schemas.emplace_back();
    export_schema_of(column.dictionary.front(), schema->dictionary);
  }
  schema->n_children = static_cast<std::int64_t>(owned->schema_children.size());
  schema->children = owned->schema_children.data();
  schema->release = [](ArrowSchema* self) {
    std::unique_ptr<OwnedColumn> mine(static_cast<OwnedColumn*>(self->private_data));
    for (ArrowSchema& child : mine->schemas) {
      if (child.release != nullptr) child.release(&child);
    }
    self->release = nullptr;
  };
  schema->private_data = owned.release();
}

// A stream of batches, and what became of it.
struct Batches {
  std::vector<Column> batches;                   // the first one has the schema
  int error = 0;                                 // reported after the last batch
  int released = 0;                              // how often
  std::function<void(ArrowArray&)> change = {};  // of each array, before it is given
  std::function<void(ArrowSchema&)> change_schema = {};

  void export_to(ArrowArrayStream* stream) {
    struct StreamState {
      Batches* of;
      std::size_t next = 0;
    };
    *stream = {};
    stream->private_data = new StreamState{this};
    stream->get_schema = [](ArrowArrayStream* self, ArrowSchema* schema) {
      Batches& of = *static_cast<StreamState*>(self->private_data)->of;
      export_schema_of(of.batches.front(), schema);
      if (of.change_schema) of.change_schema(*schema);
      return 0;
    };
    stream->get_next = [](ArrowArrayStream* self, ArrowArray* array) {
      auto& state = *static_cast<StreamState*>(self->private_data);
      *array = {};
      if (state.next == state.of->batches.size()) return state.of->error;
      export_array(state.of->batches[state.next++], array);
      if (state.of->change) state.of->change(*array);
      return 0;
    };
    stream->get_last_error = [](ArrowArrayStream*) { return "the disk is on fire"; };
    stream->release = [](ArrowArrayStream* self) {
      auto* const state = static_cast<StreamState*>(self->private_data);
      ++state->of->released;
      delete state;
      self->release = nullptr;
    };
  }
};

// --- reading ---

inline std::string value_text(const ColumnView& column, std::size_t row) {
  if (!column.is_valid(row)) return "-";
  const ColumnType& type = *column.type;
  switch (type.layout) {
    case Layout::null:
      return "-";
    case Layout::boolean:
      return column.bit(row) ? "true" : "false";
    case Layout::binary32:
    case Layout::binary64:
    case Layout::view:
      return std::string(column.text(row));
    case Layout::dictionary:
      return value_text(column.values.front(), column.index(row));
    case Layout::structure: {
      std::string text = "{";
      for (const ColumnView& child : column.children) text += value_text(child, row) + ";";
      return text + "}";
    }
    case Layout::fixed:
      if (type.format == "l") return std::to_string(column.number<std::int64_t>(row));
      if (type.format == "i") return std::to_string(column.number<std::int32_t>(row));
      if (type.format == "c") return std::to_string(column.number<std::int8_t>(row));
      if (type.format == "C") return std::to_string(column.number<std::uint8_t>(row));
      if (type.format == "g") return std::to_string(column.number<double>(row));
      return std::string(reinterpret_cast<const char*>(column.fixed(row)), type.width);
    default: {
      std::string text = "[";
      const auto [begin, end] = column.list(row);
      for (std::size_t i = begin; i < end; ++i) text += value_text(column.children[0], i) + ";";
      return text + "]";
    }
  }
}

// All rows of a stream, which is released. Values of a row are separated by commas.
struct Read {
  std::vector<std::string> rows;
  ColumnType type;
  int error = 0;
  std::string message;
};

inline Read read_all(ArrowArrayStream* stream) {
  Read read;
  ArrowSchema schema{};
  read.error = stream->get_schema(stream, &schema);
  read.type = table_type(schema);
  schema.release(&schema);
  for (;;) {
    ArrowArray array{};
    read.error = stream->get_next(stream, &array);
    if (read.error != 0) read.message = stream->get_last_error(stream);
    if (read.error != 0 || array.release == nullptr) break;
    const ColumnView view = view_of(read.type, array, "what was given");
    for (std::size_t row = 0; row < view.rows; ++row) {
      std::string text;
      for (const ColumnView& column : view.children) {
        text += (text.empty() ? "" : ",") + value_text(column, row);
      }
      read.rows.push_back(text);
    }
    array.release(&array);
  }
  stream->release(stream);
  return read;
}

}  // namespace xxl::test
