#include "columns/column_stream.h"

#include <cerrno>
#include <exception>
#include <new>
#include <utility>

#include "base/units.h"
#include "columns/shared_array.h"
#include "xxl/error.h"

namespace xxl {
namespace {

int errno_of(const Error& error) {
  if (error.sys_errno() != 0) return error.sys_errno();
  switch (error.code()) {
    case ErrorCode::usage:
    case ErrorCode::bad_input:
      return EINVAL;
    case ErrorCode::no_space:
      return ENOMEM;
    default:
      return EIO;
  }
}

class ExportedStream {
 public:
  explicit ExportedStream(std::unique_ptr<BatchSource> source) : source_(std::move(source)) {}

  static ExportedStream& of(ArrowArrayStream* stream) {
    return *static_cast<ExportedStream*>(stream->private_data);
  }
  static int get_schema(ArrowArrayStream* stream, ArrowSchema* schema) {
    *schema = {};
    return of(stream).guarded([&](BatchSource& source) { export_schema(source.type(), schema); });
  }
  static int get_next(ArrowArrayStream* stream, ArrowArray* array) {
    *array = {};
    return of(stream).guarded([&](BatchSource& source) {
      ExportedStream& self = of(stream);
      if (self.at_end_ || !source.next(array)) self.at_end_ = true;
    });
  }
  static const char* get_last_error(ArrowArrayStream* stream) {
    const ExportedStream& self = of(stream);
    return self.error_.empty() ? nullptr : self.error_.c_str();
  }
  static void release(ArrowArrayStream* stream) {
    delete &of(stream);
    stream->release = nullptr;
  }

 private:
  template <class F>
  int guarded(F&& f) noexcept {
    if (errno_ != 0) return errno_;  // what it has got ready is not to be relied on
    try {
      f(*source_);
      return 0;
    } catch (const Error& error) {
      return failed(errno_of(error), error.what());
    } catch (const std::bad_alloc&) {
      return failed(ENOMEM, "memory is exhausted");
    } catch (const std::exception& error) {
      return failed(EIO, error.what());
    } catch (...) {
      return failed(EIO, "an exception of an unknown type");
    }
  }
  int failed(int error, const char* message) noexcept {
    errno_ = error;
    try {
      error_ = message;
    } catch (const std::bad_alloc&) {  // then there is a number only
    }
    return error;
  }

  std::unique_ptr<BatchSource> source_;
  int errno_ = 0;  // once it has failed
  std::string error_;
  bool at_end_ = false;
};

}  // namespace

BatchReader::BatchReader(ArrowArrayStream* stream, std::string what)
    : what_(std::move(what)), stream_(*stream) {
  stream->release = nullptr;
  if (stream_.release == nullptr) {
    throw Error(ErrorCode::usage, what_ + " is a stream that has been released");
  }
  ArrowSchema schema{};
  try {
    if (const int error = stream_.get_schema(&stream_, &schema)) throw_failure(error);
    type_ = table_type(schema);
  } catch (...) {
    if (schema.release != nullptr) schema.release(&schema);
    close();
    throw;
  }
  schema.release(&schema);
}

BatchReader::~BatchReader() {
  close();
}

void BatchReader::close() {
  array_.reset();
  if (stream_.release != nullptr) stream_.release(&stream_);
  stream_.release = nullptr;
}

bool BatchReader::next() {
  for (;;) {
    array_ = shared_array();  // the one before is released first
    if (const int error = stream_.get_next(&stream_, array_.get())) throw_failure(error);
    if (array_->release == nullptr) return false;
    ++batches_;
    batch_ = view_of(type_, *array_, place());
    rows_ += batch_.rows;
    if (batch_.rows > 0) return true;
  }
}

void BatchReader::throw_failure(int error) {
  const char* const message =
      stream_.get_last_error != nullptr ? stream_.get_last_error(&stream_) : nullptr;
  throw Error(ErrorCode::io,
              what_ + " failed after " + format_count(rows_, "row") +
                  (message != nullptr ? ": " + std::string(message) : std::string()),
              {}, Error::kNoOffset, error);
}

void export_stream(std::unique_ptr<BatchSource> source, ArrowArrayStream* stream) {
  auto exported = std::make_unique<ExportedStream>(std::move(source));
  *stream = {.get_schema = ExportedStream::get_schema,
             .get_next = ExportedStream::get_next,
             .get_last_error = ExportedStream::get_last_error,
             .release = ExportedStream::release,
             .private_data = exported.release()};
}

}  // namespace xxl
