// xxl.Stream and xxl.Batch: the result of a sort or join of tables, which is merged while it is
// read.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "arrow_parts.h"
#include "columns/column_type.h"
#include "job/phase_meter.h"
#include "long_work.h"

namespace xxl::python {

// Files that Python reads and writes for a job, counted by any thread.
struct Traffic {
  std::atomic<std::uint64_t> read = 0, written = 0;
};

// A sort or join that has read its input.
struct ColumnJob {
  // `files`: behind its tables; may be null.
  explicit ColumnJob(const std::shared_ptr<Traffic>& files)
      : traffic([files] {
          return files != nullptr ? FileTraffic{files->read, files->written} : FileTraffic();
        }) {}

  LongWork work;                 // outlives what uses its stop token and progress
  OutsideTraffic traffic;        // likewise
  Measurements measured;         // once all has been given
  Owned<ArrowArrayStream> rows;  // its result
};

// A batch of rows, which may be handed over any number of times.
class Batch {
 public:
  Batch(std::shared_ptr<const ColumnType> schema, Owned<ArrowArray> array)
      : schema_(std::move(schema)), array_(std::make_shared<Owned<ArrowArray>>(std::move(array))) {}

  std::int64_t rows() const { return (*array_)->length; }
  nb::object schema_capsule() const;
  nb::object array_capsules() const;

 private:
  std::shared_ptr<const ColumnType> schema_;
  std::shared_ptr<const Owned<ArrowArray>> array_;
};

// Is read once: batch by batch, or by somebody else to whom all of it is handed over.
class Stream {
 public:
  // `callback`: as of LongWork::run; while batches are made.
  Stream(std::unique_ptr<ColumnJob> job, nb::object callback);
  ~Stream() { close(); }

  nb::object schema_capsule() const;
  // All rows. The callback is called no more.
  nb::object hand_over();
  // Before the first batch.
  void begin();
  // The next batch; or raises StopIteration.
  Batch next();
  // The measurements of a stream that was read to its end. Its last phase ends with this call.
  nb::dict measured() const;
  // Ends the job; forgets what has not been read.
  void close();

 private:
  enum class Use { fresh, iterated, at_end, handed_over, closed };

  void check_usable() const;

  std::unique_ptr<ColumnJob> job_;
  std::unique_ptr<ColumnJob> done_;  // without rows
  nb::object callback_;
  std::shared_ptr<const ColumnType> schema_;
  Use use_ = Use::fresh;
};

void bind_streams(nb::module_& m);

}  // namespace xxl::python
