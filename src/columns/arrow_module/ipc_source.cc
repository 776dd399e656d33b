#include "columns/arrow_module/ipc_source.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "columns/arrow_module/failed.h"
#include "columns/arrow_module/memory.h"

namespace xxl::arrow_module {
namespace {

constexpr std::string_view kFileMagic = "ARROW1";
constexpr std::size_t kFileStart = 8;  // the magic bytes, padded

constexpr const char* kEmpty = "is empty: it has no schema";

// The first bytes of a pipe; fewer if there are no more.
std::string read_start(int fd, const std::string& path) {
  std::atomic<std::uint64_t> counted_later;
  PosixStream pipe(dup(fd), path, "", counted_later);
  std::string start(kFileStart, '\0');
  const std::int64_t bytes =
      check(pipe.Read(static_cast<std::int64_t>(start.size()), start.data()), path);
  start.resize(static_cast<std::size_t>(bytes));
  return start;
}

}  // namespace

std::shared_ptr<::arrow::Schema> IpcSource::Opened::schema() const {
  return file != nullptr ? file->schema() : stream->schema();
}

IpcSource::IpcSource(const std::vector<std::string>& paths, unsigned threads)
    : options_(::arrow::ipc::IpcReadOptions::Defaults()) {
  options_.memory_pool = &pool();
  options_.use_threads = threads > 1;
  options_.ensure_alignment = ::arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  for (const std::string& path : paths) {
    Input input{.path = path, .identity = {}, .opened = {}};
    Opened opened = open(path, input.identity);
    add_schema(path, opened.schema());
    if (!input.identity.regular) input.opened = std::move(opened);
    inputs_.push_back(std::move(input));
  }
}

IpcSource::Opened IpcSource::open_stream(int fd, const std::string& path, std::string first) {
  Opened opened;
  opened.file_in_stream = first.starts_with(kFileMagic);
  if (opened.file_in_stream) first.clear();
  opened.bytes = std::make_shared<PosixStream>(fd, path, std::move(first), bytes_read_);
  opened.stream = check(::arrow::ipc::RecordBatchStreamReader::Open(opened.bytes, options_), path);
  return opened;
}

IpcSource::Opened IpcSource::open(const std::string& path, FileIdentity& identity) {
  const int fd = open_for_reading(path, identity);
  if (!identity.regular) {
    std::string start = read_start(fd, path);
    if (start.empty()) throw Failed(ErrorCode::bad_input, joined({path, kEmpty}));
    return open_stream(fd, path, std::move(start));
  }
  auto file = std::make_shared<PosixFile>(fd, identity.bytes, path, bytes_read_);
  std::string magic(kFileMagic.size(), '\0');
  const std::int64_t bytes =
      check(file->ReadAt(0, static_cast<std::int64_t>(magic.size()), magic.data()), path);
  if (static_cast<std::size_t>(bytes) == magic.size() && magic == kFileMagic) {
    Opened opened;
    opened.file = check(::arrow::ipc::RecordBatchFileReader::Open(file, options_), path);
    return opened;
  }
  if (bytes == 0) throw Failed(ErrorCode::bad_input, joined({path, kEmpty}));
  if (magic.starts_with("PAR1")) {
    throw Failed(ErrorCode::usage, joined({path, "is a Parquet file: --record=parquet"}));
  }
  lseek(fd, 0, SEEK_SET);
  return open_stream(dup(fd), path, "");
}

std::string IpcSource::place() const {
  return joined({inputs_[input_].path, "batch " + std::to_string(batch_)});
}

// Batches are as they were written, whatever their size.
std::shared_ptr<::arrow::RecordBatch> IpcSource::next(std::uint64_t /*bytes*/) {
  for (; input_ < inputs_.size(); end_input()) {
    Input& input = inputs_[input_];
    if (!input.opened) {
      FileIdentity identity;
      input.opened = open(input.path, identity);
      if (identity != input.identity) {
        throw Failed(ErrorCode::bad_input,
                     joined({input.path, "was changed or replaced meanwhile"}));
      }
    }
    std::shared_ptr<::arrow::RecordBatch> batch;
    if (input.opened->file != nullptr) {
      if (batch_ >= input.opened->file->num_record_batches()) continue;
      batch = check(input.opened->file->ReadRecordBatch(batch_), place());
    } else {
      check(input.opened->stream->ReadNext(&batch), place());
      if (batch == nullptr) continue;
    }
    // Its offsets and dictionary indices are the file's, and will be trusted.
    check(batch->ValidateFull(), place());
    ++batch_;
    rows_read_ += static_cast<std::uint64_t>(batch->num_rows());
    return batch;
  }
  return nullptr;
}

void IpcSource::end_input() {
  Input& input = inputs_[input_];
  if (input.opened->stream != nullptr) check_end(*input.opened, input.path);
  input.opened.reset();
  ++input_;
  batch_ = 0;
}

// What follows the batches of a stream: nothing, or the footer of a file.
void IpcSource::check_end(const Opened& opened, const std::string& path) const {
  std::string rest, end;
  rest.resize(std::size_t{1} << 16);
  for (;;) {
    const std::int64_t bytes =
        check(opened.bytes->Read(static_cast<std::int64_t>(rest.size()), rest.data()), path);
    if (bytes == 0) break;
    if (!opened.file_in_stream) {
      throw Failed(ErrorCode::bad_input,
                   joined({path, "more follows the end of the stream: give each stream a file"}));
    }
    end.append(rest, 0, static_cast<std::size_t>(bytes));
    end.erase(0, end.size() - std::min(end.size(), kFileMagic.size()));
  }
  if (opened.file_in_stream && end != kFileMagic) {
    throw Failed(ErrorCode::bad_input, joined({path, "the file ends too early"}));
  }
}

module_table::SourceFacts IpcSource::facts() const {
  module_table::SourceFacts facts{};
  facts.bytes_read = bytes_read_;
  facts.rows_read = rows_read_;
  for (const Input& input : inputs_) {
    facts.file_bytes += static_cast<std::uint64_t>(input.identity.bytes);
  }
  return facts;
}

}  // namespace xxl::arrow_module
