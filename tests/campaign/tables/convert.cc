// Tables as text to files of columns and back:
//
//   xxl-campaign-tables write parquet|file|stream ROWS < TEXT > FILE
//   xxl-campaign-tables read parquet|arrow FILE > TEXT
//
// ROWS are those of a row group or a batch.
//
// Text has a line for each row, and what is read a line in front of them with the columns. Fields
// are separated by tabs: "-" is null; strings begin with a quote; floats are their 64 bits; lists
// are [1;2;]. What is written has the columns of `schema()`.
#include <arrow/api.h>
#include <arrow/io/api.h>
#include <arrow/ipc/api.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>

#include <bit>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../split.h"

namespace {

using xxl::campaign::split;

void check(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}
template <typename T>
T check(arrow::Result<T> result) {
  check(result.status());
  return std::move(result).ValueUnsafe();
}

std::shared_ptr<arrow::Schema> schema() {
  return arrow::schema(
      {arrow::field("id", arrow::int64()), arrow::field("name", arrow::utf8()),
       arrow::field("amount", arrow::float64()), arrow::field("flag", arrow::boolean()),
       arrow::field("code", arrow::dictionary(arrow::int32(), arrow::utf8())),
       arrow::field("day", arrow::date32()), arrow::field("tags", arrow::list(arrow::int32()))});
}

// --- writing ---

void append_value(arrow::ArrayBuilder& builder, std::string_view text) {
  const auto number = [&] { return std::stoll(std::string(text)); };
  switch (builder.type()->id()) {
    case arrow::Type::INT32:
      return check(
          static_cast<arrow::Int32Builder&>(builder).Append(static_cast<std::int32_t>(number())));
    case arrow::Type::INT64:
      return check(static_cast<arrow::Int64Builder&>(builder).Append(number()));
    case arrow::Type::DATE32:
      return check(
          static_cast<arrow::Date32Builder&>(builder).Append(static_cast<std::int32_t>(number())));
    case arrow::Type::BOOL:
      return check(static_cast<arrow::BooleanBuilder&>(builder).Append(text == "1"));
    case arrow::Type::DOUBLE:
      return check(static_cast<arrow::DoubleBuilder&>(builder).Append(
          std::bit_cast<double>(std::stoull(std::string(text)))));
    case arrow::Type::STRING:
      return check(static_cast<arrow::StringBuilder&>(builder).Append(text.substr(1)));
    case arrow::Type::DICTIONARY:
      return check(static_cast<arrow::StringDictionary32Builder&>(builder).Append(text.substr(1)));
    case arrow::Type::LIST: {
      auto& list = static_cast<arrow::ListBuilder&>(builder);
      check(list.Append());
      const std::vector<std::string_view> values = split(text.substr(1), ';');
      for (std::size_t i = 0; i + 1 < values.size(); ++i) {
        append_value(*list.value_builder(), values[i]);
      }
      return;
    }
    default:
      throw std::runtime_error("no text of " + builder.type()->ToString());
  }
}

std::shared_ptr<arrow::Table> read_rows() {
  const auto columns = schema();
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders;
  for (const auto& field : columns->fields()) {
    builders.push_back(check(field->type()->id() == arrow::Type::DICTIONARY
                                 ? arrow::Result<std::unique_ptr<arrow::ArrayBuilder>>(
                                       std::make_unique<arrow::StringDictionary32Builder>())
                                 : arrow::MakeBuilder(field->type())));
  }
  for (std::string line; std::getline(std::cin, line);) {
    const std::vector<std::string_view> fields = split(line, '\t');
    for (std::size_t i = 0; i < builders.size(); ++i) {
      if (fields.at(i) == "-")
        check(builders[i]->AppendNull());
      else
        append_value(*builders[i], fields[i]);
    }
  }
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const auto& builder : builders) arrays.push_back(check(builder->Finish()));
  return arrow::Table::Make(columns, arrays);
}

void write_table(const std::string& format, std::int64_t rows) {
  const auto table = read_rows();
  const auto sink = check(arrow::io::BufferOutputStream::Create());
  if (format == "parquet") {
    const auto properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    check(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), sink, rows,
                                     parquet::default_writer_properties(), properties));
  } else {
    const auto writer =
        check(format == "file" ? arrow::ipc::MakeFileWriter(sink, table->schema())
                               : arrow::ipc::MakeStreamWriter(sink, table->schema()));
    check(writer->WriteTable(*table, rows));
    check(writer->Close());
  }
  const auto bytes = check(sink->Finish());
  std::fwrite(bytes->data(), 1, static_cast<std::size_t>(bytes->size()), stdout);
}

// --- reading ---

std::string text_of(const arrow::Array& array, std::int64_t row) {
  if (array.IsNull(row)) return "-";
  switch (array.type_id()) {
    case arrow::Type::INT32:
      return std::to_string(static_cast<const arrow::Int32Array&>(array).Value(row));
    case arrow::Type::INT64:
      return std::to_string(static_cast<const arrow::Int64Array&>(array).Value(row));
    case arrow::Type::DATE32:
      return std::to_string(static_cast<const arrow::Date32Array&>(array).Value(row));
    case arrow::Type::BOOL:
      return static_cast<const arrow::BooleanArray&>(array).Value(row) ? "1" : "0";
    case arrow::Type::DOUBLE:
      return std::to_string(
          std::bit_cast<std::uint64_t>(static_cast<const arrow::DoubleArray&>(array).Value(row)));
    case arrow::Type::STRING:
      return '\'' + static_cast<const arrow::StringArray&>(array).GetString(row);
    case arrow::Type::DICTIONARY: {
      const auto& coded = static_cast<const arrow::DictionaryArray&>(array);
      return text_of(*coded.dictionary(), coded.GetValueIndex(row));
    }
    case arrow::Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      std::string text = "[";
      for (std::int32_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i) {
        text += text_of(*list.values(), i) + ';';
      }
      return text;
    }
    default:
      throw std::runtime_error("no text of " + array.type()->ToString());
  }
}

std::shared_ptr<arrow::Table> read_table(const std::string& format, const std::string& path) {
  const auto file = check(arrow::io::ReadableFile::Open(path));
  if (format == "parquet") {
    parquet::arrow::FileReaderBuilder builder;
    check(builder.Open(file));
    const auto reader = check(builder.Build());
    return check(reader->ReadTable());
  }
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  const auto as_file = arrow::ipc::RecordBatchFileReader::Open(file);
  if (as_file.ok()) {
    for (int i = 0; i < (*as_file)->num_record_batches(); ++i) {
      batches.push_back(check((*as_file)->ReadRecordBatch(i)));
    }
    return check(arrow::Table::FromRecordBatches((*as_file)->schema(), batches));
  }
  check(file->Seek(0));
  const auto as_stream = check(arrow::ipc::RecordBatchStreamReader::Open(file));
  return check(as_stream->ToTable());
}

void print_table(const std::string& format, const std::string& path) {
  const auto table = read_table(format, path);
  check(table->ValidateFull());
  std::string text;
  for (const auto& field : table->schema()->fields()) text += field->ToString() + '\t';
  text += '\n';
  arrow::TableBatchReader batches(*table);
  for (std::shared_ptr<arrow::RecordBatch> batch;;) {
    check(batches.ReadNext(&batch));
    if (batch == nullptr) break;
    for (std::int64_t row = 0; row < batch->num_rows(); ++row) {
      for (int i = 0; i < batch->num_columns(); ++i) {
        if (i > 0) text += '\t';
        text += text_of(*batch->column(i), row);
      }
      text += '\n';
    }
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 3 && arguments[0] == "write")
      write_table(arguments[1], std::stoll(arguments[2]));
    else if (arguments.size() == 3 && arguments[0] == "read")
      print_table(arguments[1], arguments[2]);
    else
      throw std::runtime_error("write FORMAT ROWS, or read FORMAT FILE");
    return std::fflush(stdout) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "xxl-campaign-tables: %s\n", error.what());
    return 1;
  }
}
