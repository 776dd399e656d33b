// Writes Arrow IPC: a file with a footer, or a stream.
#include <arrow/io/buffered.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>

#include <algorithm>
#include <utility>

#include "columns/arrow_module/batch_target.h"
#include "columns/arrow_module/compression.h"
#include "columns/arrow_module/failed.h"
#include "columns/arrow_module/memory.h"
#include "columns/arrow_module/output.h"

namespace xxl::arrow_module {
namespace {

// Messages consist of many small parts.
constexpr std::int64_t kBufferBytes = std::int64_t{1} << 20;

class IpcTarget : public BatchTarget {
 public:
  IpcTarget(const module_table::TargetOptions& options,
            const std::shared_ptr<::arrow::Schema>& schema)
      : output_(std::make_shared<Output>(options)) {
    buffered_ =
        check(::arrow::io::BufferedOutputStream::Create(kBufferBytes, &pool(), output_), "");
    auto ipc = ::arrow::ipc::IpcWriteOptions::Defaults();
    ipc.memory_pool = &pool();
    ipc.use_threads = options.threads > 1;
    const auto codec = codec_of(options.format, options.compression, options.level);
    if (codec != ::arrow::Compression::UNCOMPRESSED) {
      ipc.codec = options.level != 0 ? check(::arrow::util::Codec::Create(codec, options.level), "")
                                     : check(::arrow::util::Codec::Create(codec), "");
    }
    if (options.format == module_table::Format::ipc_stream) {
      writer_ = check(::arrow::ipc::MakeStreamWriter(buffered_, schema, ipc), "");
    } else {
      // A file has one dictionary for all batches, which may grow.
      ipc.emit_dictionary_deltas = true;
      writer_ = check(::arrow::ipc::MakeFileWriter(buffered_, schema, ipc, schema->metadata()), "");
    }
  }

  ~IpcTarget() override { output_->abandon(); }

  void write(const ::arrow::RecordBatch& batch) override {
    check(writer_->WriteRecordBatch(batch), "");
    ++facts_.batches;
    facts_.rows += static_cast<std::uint64_t>(batch.num_rows());
  }

  void finish() override {
    check(writer_->Close(), "");
    check(buffered_->Close(), "");
  }

  Written written() const override {
    return {static_cast<std::int64_t>(facts_.rows), check(output_->Tell(), "")};
  }

 private:
  std::shared_ptr<Output> output_;
  std::shared_ptr<::arrow::io::BufferedOutputStream> buffered_;
  std::shared_ptr<::arrow::ipc::RecordBatchWriter> writer_;
};

}  // namespace

std::unique_ptr<BatchTarget> make_ipc_target(const module_table::TargetOptions& options,
                                             const std::shared_ptr<::arrow::Schema>& schema) {
  return std::make_unique<IpcTarget>(options, schema);
}

}  // namespace xxl::arrow_module
