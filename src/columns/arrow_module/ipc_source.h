// Reads files and streams of Arrow IPC.
//
// A file begins with "ARROW1" and has a footer, which says where its batches are. A file that comes
// through a pipe is read as the stream that it contains. Large batches of files are read in slices,
// unless they are compressed (batch_slices.h); others must fit in the memory that reading has.
#pragma once

#include <arrow/ipc/reader.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "columns/arrow_module/batch_source.h"
#include "columns/arrow_module/posix_files.h"

namespace xxl::arrow_module {

class IpcSource : public BatchSource {
 public:
  // Examines the files, one after the other; only pipes stay open. Throws Failed.
  IpcSource(const std::vector<std::string>& paths, unsigned threads);

  void take_share(const module_table::Share& share) override;
  void restart() override;
  std::shared_ptr<::arrow::RecordBatch> next(std::uint64_t bytes) override;
  bool reads_ahead() const override { return false; }
  module_table::SourceFacts facts() const override;
  std::uint64_t largest_batch() const override;

 private:
  // An open one: the reader of a file, or that of a stream.
  struct Opened {
    std::shared_ptr<::arrow::ipc::RecordBatchFileReader> file;
    std::shared_ptr<::arrow::ipc::RecordBatchStreamReader> stream;
    std::shared_ptr<PosixFile> bytes;   // of what is no pipe
    std::shared_ptr<PosixStream> pipe;  // or else of that
    bool file_in_stream = false;
    std::shared_ptr<::arrow::Schema> schema() const;
  };
  struct Input {
    std::string path;
    FileIdentity identity;
    int batches;  // of a file; of a stream it is not known
    std::optional<Opened> opened;
  };
  // Where a share begins, or ends: in a batch, behind `part`/`whole` of its rows.
  struct Cut {
    std::size_t input = 0;
    int batch = 0;
    std::uint64_t part = 0, whole = 1;
  };

  Opened open(const std::string& path, FileIdentity& identity);
  Opened open_pipe(int fd, const std::string& path);
  std::shared_ptr<::arrow::RecordBatch> next_stored();
  std::shared_ptr<::arrow::RecordBatch> next_slice(std::int64_t bytes);
  void end_input();
  std::string place(int batch) const;
  void check_read(const ::arrow::Status& status);
  Cut cut_at(std::uint64_t offset) const;
  bool is_at_end() const;
  std::int64_t row_of(const Cut& cut, std::int64_t rows, std::int64_t otherwise) const;

  ::arrow::ipc::IpcReadOptions options_;
  std::vector<Input> inputs_;
  Cut begin_, end_;  // of what is read
  std::atomic<bool> lacks_memory_ = false;

  // Where reading is.
  std::size_t input_ = 0;
  int batch_ = 0;                                 // of inputs_[input_]: the one to be read next
  std::int64_t row_ = 0, end_row_ = 0;            // of the one before, what is to be read
  std::shared_ptr<::arrow::RecordBatch> mapped_;  // that one, if it is read in slices
};

}  // namespace xxl::arrow_module
