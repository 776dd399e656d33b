#include "stream.h"

#include <pthread.h>

#include <cerrno>
#include <string>
#include <utility>

#include "errors.h"
#include "exported_stream.h"
#include "measurements.h"
#include "text.h"

namespace xxl::python {
namespace {

// Handlers of signals run on it alone.
unsigned long main_thread;
bool is_main_thread() {
  return static_cast<unsigned long>(pthread_self()) == main_thread;
}

// Raises an exception, which it owns, as soon as Python's main thread runs Python again.
int raise_kept(void* exception) {
  const nb::object kept = nb::steal(static_cast<PyObject*>(exception));
  PyErr_SetObject(kept.type().ptr(), kept.ptr());
  return -1;
}

// Rows for another library, which knows nothing of signals: where it waits for a batch on the main
// thread, handlers are called here. What they raise is an error of the stream at first, so that the
// library returns to Python, and is raised there.
class HandedOver {
 public:
  explicit HandedOver(std::unique_ptr<ColumnJob> job) : job_(std::move(job)) {}

  int get_schema(ArrowSchema* out) { return report(job_->rows->get_schema(job_->rows.get(), out)); }
  int get_next(ArrowArray* out) {
    int result = 0;
    out->release = nullptr;
    const auto body = [&] { result = job_->rows->get_next(job_->rows.get(), out); };
    if (!is_main_thread() || Py_IsInitialized() == 0) {
      body();
      return report(result);
    }
    const nb::gil_scoped_acquire gil;
    try {
      job_->work.run(body);
    } catch (nb::python_error& error) {
      if (out->release != nullptr) out->release(out);
      return keep(error);
    }
    return report(result);
  }
  const char* last_error() const { return last_error_.c_str(); }

 private:
  int report(int result) {
    if (result == 0) return 0;
    const char* const text = job_->rows->get_last_error(job_->rows.get());
    last_error_ = text != nullptr ? text : "";
    return result;
  }
  int keep(nb::python_error& error) {
    const nb::object exception = nb::borrow(error.value());
    last_error_ = std::string("interrupted by ") + nb::type_name(exception.type()).c_str();
    PyObject* const kept = exception.inc_ref().ptr();
    if (Py_AddPendingCall(raise_kept, kept) != 0) {  // too many wait: let it be Ctrl-C
      nb::handle(kept).dec_ref();
      PyErr_SetInterrupt();
    }
    return ECANCELED;
  }

  std::unique_ptr<ColumnJob> job_;
  std::string last_error_;
};

nb::object capsule_of_schema(const ColumnType& schema) {
  Owned<ArrowSchema> copy;
  export_schema(schema, copy.get());
  return make_capsule(std::move(copy));
}

[[noreturn]] void throw_failure(ArrowArrayStream* stream, int number) {
  const char* const text = stream->get_last_error(stream);
  throw StreamFailure(number, text != nullptr ? text : "");
}

}  // namespace

nb::object Batch::schema_capsule() const {
  return capsule_of_schema(*schema_);
}

nb::object Batch::array_capsules() const {
  Owned<ArrowArray> shared;
  share_array(**array_, array_, shared.get());
  return nb::make_tuple(schema_capsule(), make_capsule(std::move(shared)));
}

Stream::Stream(std::unique_ptr<ColumnJob> job, nb::object callback)
    : job_(std::move(job)), callback_(std::move(callback)) {
  Owned<ArrowSchema> schema;
  ArrowArrayStream* const rows = job_->rows.get();
  if (const int result = rows->get_schema(rows, schema.get()); result != 0) {
    throw_failure(rows, result);
  }
  schema_ = std::make_shared<ColumnType>(table_type(*schema));
}

void Stream::check_usable() const {
  switch (use_) {
    case Use::fresh:
      return;
    case Use::iterated:
      throw_usage("this stream is being read: what it gives is there once");
    case Use::at_end:
      throw_usage("this stream has been read: what it gives is there once");
    case Use::handed_over:
      throw_usage("this stream has been handed over: what it gives is there once");
    case Use::closed:
      throw_usage("this stream is closed");
  }
}

nb::object Stream::schema_capsule() const {
  return capsule_of_schema(*schema_);
}

nb::object Stream::hand_over() {
  check_usable();
  use_ = Use::handed_over;
  callback_ = nb::none();
  return make_capsule(export_stream(std::make_unique<HandedOver>(std::move(job_))));
}

void Stream::begin() {
  check_usable();
  use_ = Use::iterated;
}

Batch Stream::next() {
  if (use_ == Use::at_end) throw nb::stop_iteration();
  if (use_ == Use::fresh) begin();
  if (use_ != Use::iterated) check_usable();
  if (job_ == nullptr) throw_usage("another thread is reading this stream");
  // Others cannot close it while it works.
  std::unique_ptr<ColumnJob> job = std::move(job_);
  const auto end = [&job] {
    nb::gil_scoped_release release;
    job->rows.reset();
  };
  Owned<ArrowArray> batch;
  try {
    ArrowArrayStream* const rows = job->rows.get();
    int result = 0;
    job->work.run([&] { result = rows->get_next(rows, batch.get()); }, callback_);
    if (result != 0) throw_failure(rows, result);
  } catch (...) {
    use_ = Use::closed;
    end();
    throw;
  }
  if (use_ != Use::iterated) {  // others closed it meanwhile
    end();
    check_usable();
  }
  if (batch.empty()) {
    use_ = Use::at_end;
    end();
    done_ = std::move(job);
    throw nb::stop_iteration();
  }
  job_ = std::move(job);
  return Batch(schema_, std::move(batch));
}

nb::dict Stream::measured() const {
  if (done_ == nullptr) throw_usage("a stream that has not been read has no measurements");
  Measurements measured = done_->measured;
  if (!measured.phases.empty()) done_->traffic.extend(measured.phases.back());
  measured.peak_memory_bytes = peak_memory_bytes();
  nb::dict fields;
  add_measurements(fields, measured);
  return fields;
}

void Stream::close() {
  if (use_ != Use::handed_over) use_ = Use::closed;
  const std::unique_ptr<ColumnJob> job = std::move(job_);
  if (job == nullptr) return;
  nb::gil_scoped_release release;
  job->rows.reset();
}

void bind_streams(nb::module_& m) {
  nb::class_<Traffic>(m, "Traffic", "Files that are read and written for a job.")
      .def(nb::init<>())
      .def("add_read", [](Traffic& self, std::uint64_t bytes) { self.read += bytes; })
      .def("set_written", [](Traffic& self, std::uint64_t bytes) { self.written = bytes; });
  main_thread = nb::cast<unsigned long>(
      nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  nb::class_<Batch>(m, "Batch", "Rows of a table, which Arrow's libraries take without copying.")
      .def_prop_ro("num_rows", &Batch::rows, "How many rows there are.")
      .def("__len__", &Batch::rows)
      .def("__repr__",
           [](const Batch& self) {
             return "<xxl.Batch num_rows=" + std::to_string(self.rows()) + ">";
           })
      .def(
          "__arrow_c_schema__", [](const Batch& self) { return self.schema_capsule(); },
          "Arrow's PyCapsule interface.")
      .def(
          "__arrow_c_array__", [](const Batch& self, nb::object) { return self.array_capsules(); },
          nb::arg("requested_schema").none() = nb::none(),
          "Arrow's PyCapsule interface. The batch can be handed over any number of times. Its "
          "types stay as they are, whatever is requested.");
  nb::class_<Stream>(
      m, "Stream",
      "The result of a sort or a join, which is merged while it is read: once, either by whoever "
      "takes it by __arrow_c_stream__ (pyarrow.table(stream), polars.DataFrame(stream), ...), or "
      "by read_all(), or batch by batch (`for batch in stream`). It holds memory and scratch "
      "space until it has been read or closed, and can be used in a `with` statement.")
      .def(
          "__arrow_c_schema__", [](const Stream& self) { return self.schema_capsule(); },
          "Arrow's PyCapsule interface.")
      .def(
          "__arrow_c_stream__", [](Stream& self, nb::object) { return self.hand_over(); },
          nb::arg("requested_schema").none() = nb::none(),
          "Arrow's PyCapsule interface: hands over all rows, once. Their types stay as they are, "
          "whatever is requested.")
      .def("__iter__",
           [](nb::handle_t<Stream> self) {
             nb::cast<Stream&>(self).begin();
             return nb::borrow(self);
           })
      .def("__next__", &Stream::next)
      .def(
          "read_all",
          [](nb::handle_t<Stream> self) {
            return nb::module_::import_("xxl._tables").attr("read_all")(self);
          },
          "All rows, as a pyarrow.Table.")
      .def("_measured", &Stream::measured,
           "For this package: what was measured, once all has been iterated.")
      .def("close", &Stream::close,
           "Ends the work and frees memory and scratch space; what has not been read is lost. May "
           "be called at any time, and more than once.")
      .def("__enter__", [](nb::handle_t<Stream> self) { return nb::borrow(self); })
      .def("__exit__", [](Stream& self, nb::args) { self.close(); });
}

}  // namespace xxl::python
