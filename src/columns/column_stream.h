// Arrow streams: one that is read, and one that is made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "columns/column_type.h"
#include "columns/column_view.h"
#include "xxl/arrow_c.h"

namespace xxl {

// Batches of a stream, which it releases at the end.
class BatchReader {
 public:
  // Takes over `stream`; `what`: "the input", for messages. Throws Error{io} with what the stream
  // reports, Error{usage} for a schema that is not supported.
  BatchReader(ArrowArrayStream* stream, std::string what);
  ~BatchReader();
  BatchReader(const BatchReader&) = delete;
  BatchReader& operator=(const BatchReader&) = delete;

  const ColumnType& type() const { return type_; }
  const std::string& what() const { return what_; }
  // The next batch with rows, if there is one; the one before is released. Throws Error{io} with
  // what the stream reports, Error{bad_input} for a batch that is not valid.
  bool next();
  const ColumnView& batch() const { return batch_; }
  // The same, with its memory, which lasts as long as any share of it.
  const std::shared_ptr<ArrowArray>& shared_batch() const { return array_; }
  // Of all batches so far.
  std::uint64_t rows() const { return rows_; }
  // Where the last batch is, for messages.
  std::string place() const { return what_ + ", batch " + std::to_string(batches_); }
  // No more is read: releases batch and stream.
  void close();

 private:
  [[noreturn]] void throw_failure(int error);

  std::string what_;
  ArrowArrayStream stream_;
  std::shared_ptr<ArrowArray> array_;
  ColumnType type_;
  ColumnView batch_;
  std::uint64_t rows_ = 0;
  std::uint64_t batches_ = 0;
};

// What makes batches.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual const ColumnType& type() const = 0;
  // Fills `array` with the next batch. False at the end. Throws Error.
  virtual bool next(ArrowArray* array) = 0;
};

// Fills `stream` with one that gives the batches of `source`.
void export_stream(std::unique_ptr<BatchSource> source, ArrowArrayStream* stream);

}  // namespace xxl
