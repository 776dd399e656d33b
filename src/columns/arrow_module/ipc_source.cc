#include "columns/arrow_module/ipc_source.h"

#include <arrow/util/byte_size.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "columns/arrow_module/batch_memory.h"
#include "columns/arrow_module/batch_slices.h"
#include "columns/arrow_module/failed.h"
#include "columns/arrow_module/memory.h"

namespace xxl::arrow_module {
namespace {

constexpr std::string_view kFileMagic = "ARROW1";
constexpr std::size_t kFileStart = 8;  // the magic bytes, padded

// Larger batches are read in slices.
constexpr std::int64_t kMostWholeBytes = std::int64_t{4} << 20;

constexpr const char* kNoStream = "is not an Arrow file or stream";
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

// What follows the batches of a stream: nothing, or the footer of a file.
void check_end(::arrow::io::InputStream& stream, bool is_file, const std::string& path) {
  std::string part(std::size_t{1} << 16, '\0');
  std::string end;
  while (const std::int64_t bytes =
             check(stream.Read(static_cast<std::int64_t>(part.size()), part.data()), path)) {
    if (!is_file) {
      throw Failed(ErrorCode::bad_input,
                   joined({path, "more follows the end of the stream: give each stream a file"}));
    }
    end.append(part, 0, static_cast<std::size_t>(bytes));
    end.erase(0, end.size() - std::min(end.size(), kFileMagic.size()));
  }
  if (is_file && end != kFileMagic) {
    throw Failed(ErrorCode::bad_input, joined({path, "the file ends too early"}));
  }
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
    Input input{.path = path, .identity = {}, .batches = 0, .opened = {}};
    Opened opened = open(path, input.identity);
    add_schema(path, opened.schema());
    if (opened.file != nullptr) input.batches = opened.file->num_record_batches();
    if (!input.identity.regular) input.opened = std::move(opened);
    inputs_.push_back(std::move(input));
  }
  end_.input = inputs_.size();
}

// Files have shares of their bytes. All batches of a file count alike: how many rows they have is
// not known before they are read.
void IpcSource::take_share(const module_table::Share& share) {
  std::uint64_t bytes = 0;
  for (const Input& input : inputs_) {
    if (!input.identity.regular) {
      throw Failed(ErrorCode::usage, joined({input.path, "is a pipe, which has no shares"}));
    }
    bytes += static_cast<std::uint64_t>(input.identity.bytes);
  }
  begin_ = cut_at(start_of_share(bytes, share.index, share.count));
  end_ = cut_at(start_of_share(bytes, share.index + 1, share.count));
}

// That of a stream is behind it, unless it is at its start.
IpcSource::Cut IpcSource::cut_at(std::uint64_t offset) const {
  Cut cut;
  for (; cut.input < inputs_.size(); ++cut.input) {
    const Input& input = inputs_[cut.input];
    const auto bytes = static_cast<std::uint64_t>(input.identity.bytes);
    if (offset == 0) break;
    if (offset < bytes && input.batches > 0) {
      const auto batches =
          static_cast<unsigned __int128>(offset) * static_cast<unsigned>(input.batches);
      cut.batch = static_cast<int>(batches / bytes);
      cut.part = static_cast<std::uint64_t>(batches % bytes);
      cut.whole = bytes;
      break;
    }
    offset -= std::min(offset, bytes);
  }
  return cut;
}

bool IpcSource::is_at_end() const {
  if (input_ != end_.input) return input_ > end_.input;
  return batch_ > end_.batch || (batch_ == end_.batch && end_.part == 0);
}

// Of the batch that is to be read next, which has `rows`, where the cut is, if it is there.
std::int64_t IpcSource::row_of(const Cut& cut, std::int64_t rows, std::int64_t otherwise) const {
  if (cut.input != input_ || cut.batch != batch_) return otherwise;
  return static_cast<std::int64_t>(
      start_of_share(static_cast<std::uint64_t>(rows), cut.part, cut.whole));
}

IpcSource::Opened IpcSource::open_pipe(int fd, const std::string& path) {
  std::string start = read_start(fd, path);
  if (start.empty()) throw Failed(ErrorCode::bad_input, joined({path, kEmpty}));
  Opened opened;
  opened.file_in_stream = start.starts_with(kFileMagic);
  if (opened.file_in_stream) start.clear();
  opened.pipe = std::make_shared<PosixStream>(fd, path, std::move(start), bytes_read_);
  opened.stream = check(::arrow::ipc::RecordBatchStreamReader::Open(opened.pipe, options_),
                        joined({path, kNoStream}));
  return opened;
}

IpcSource::Opened IpcSource::open(const std::string& path, FileIdentity& identity) {
  const int fd = open_for_reading(path, identity);
  if (!identity.regular) return open_pipe(fd, path);
  Opened opened;
  opened.bytes = std::make_shared<PosixFile>(fd, identity.bytes, path, bytes_read_);
  opened.bytes->map_more_than(kMostWholeBytes);
  std::string magic(kFileMagic.size(), '\0');
  const std::int64_t bytes =
      check(opened.bytes->ReadAt(0, static_cast<std::int64_t>(magic.size()), magic.data()), path);
  if (bytes == 0) throw Failed(ErrorCode::bad_input, joined({path, kEmpty}));
  if (magic.starts_with("PAR1")) {
    throw Failed(ErrorCode::usage, joined({path, "is a Parquet file: --record=parquet"}));
  }
  if (magic == kFileMagic) {
    opened.file = check(::arrow::ipc::RecordBatchFileReader::Open(opened.bytes, options_), path);
  } else {
    opened.stream = check(::arrow::ipc::RecordBatchStreamReader::Open(opened.bytes, options_),
                          joined({path, kNoStream}));
  }
  return opened;
}

std::string IpcSource::place(int batch) const {
  return joined({inputs_[input_].path, "batch " + std::to_string(batch)});
}

// How much memory would do is added by who divides it.
void IpcSource::check_read(const ::arrow::Status& status) {
  lacks_memory_ = status.IsOutOfMemory();
  if (lacks_memory_) {
    throw Failed(ErrorCode::no_space,
                 joined({place(batch_), "takes more memory than there is to read it"}));
  }
  check(status, place(batch_));
}

std::uint64_t IpcSource::largest_batch() const {
  std::uint64_t most = 0;
  for (const Input& input : inputs_) {
    if (!input.identity.regular) continue;
    FileIdentity identity;
    std::atomic<std::uint64_t> not_counted;
    const int fd = open_for_reading(input.path, identity);
    PosixFile file(fd, identity.bytes, input.path, not_counted);
    most = std::max(most, largest_batch_memory(file, identity.bytes, kMostWholeBytes));
  }
  return most;
}

// The next batch that is read, as it is stored; null at the end.
std::shared_ptr<::arrow::RecordBatch> IpcSource::next_stored() {
  for (; input_ < inputs_.size() && !is_at_end(); end_input()) {
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
      auto read = input.opened->file->ReadRecordBatch(batch_);
      check_read(read.status());
      batch = std::move(read).MoveValueUnsafe();
    } else {
      check_read(input.opened->stream->ReadNext(&batch));
      if (batch == nullptr) continue;
    }
    row_ = row_of(begin_, batch->num_rows(), 0);
    end_row_ = row_of(end_, batch->num_rows(), batch->num_rows());
    ++batch_;
    return batch;
  }
  return nullptr;
}

// The next rows of the batch that is mapped; null at its end.
std::shared_ptr<::arrow::RecordBatch> IpcSource::next_slice(std::int64_t bytes) {
  if (row_ >= end_row_) return nullptr;
  const double row_bytes = static_cast<double>(::arrow::util::TotalBufferSize(*mapped_)) /
                           static_cast<double>(mapped_->num_rows());
  const auto fitting =
      static_cast<std::int64_t>(static_cast<double>(bytes) / std::max(row_bytes, 1.0));
  const std::int64_t count = std::min(std::max<std::int64_t>(fitting / 8 * 8, 8), end_row_ - row_);
  auto slice =
      read_slice(*mapped_, {row_, count, bytes}, *inputs_[input_].opened->bytes, place(batch_ - 1));
  row_ += slice->num_rows();
  return slice;
}

void IpcSource::restart() {
  for (Input& input : inputs_) {
    if (input.identity.regular) input.opened.reset();
  }
  input_ = begin_.input;
  batch_ = begin_.batch;
  mapped_.reset();
  rows_read_ = 0;
}

std::shared_ptr<::arrow::RecordBatch> IpcSource::next(std::uint64_t bytes) {
  std::shared_ptr<::arrow::RecordBatch> batch;
  if (mapped_ != nullptr) batch = next_slice(static_cast<std::int64_t>(bytes));
  while (batch == nullptr) {
    mapped_.reset();
    batch = next_stored();
    if (batch == nullptr) return nullptr;
    const auto& file = inputs_[input_].opened->bytes;
    if (file == nullptr || !is_mapped(*batch, *file)) {
      batch = batch->Slice(row_, end_row_ - row_);
      break;
    }
    mapped_ = std::move(batch);
    batch = next_slice(static_cast<std::int64_t>(bytes));
  }
  // Its offsets and dictionary indices are the file's, and will be trusted.
  check(batch->ValidateFull(), place(batch_ - 1));
  rows_read_ += static_cast<std::uint64_t>(batch->num_rows());
  return batch;
}

void IpcSource::end_input() {
  Input& input = inputs_[input_];
  if (input.opened->pipe != nullptr) {
    check_end(*input.opened->pipe, input.opened->file_in_stream, input.path);
  } else if (input.opened->stream != nullptr) {
    check_end(*input.opened->bytes, false, input.path);
  }
  input.opened.reset();
  ++input_;
  batch_ = 0;
}

module_table::SourceFacts IpcSource::facts() const {
  module_table::SourceFacts facts{};
  facts.columns = static_cast<std::uint64_t>(schema()->num_fields());
  facts.bytes_read = bytes_read_;
  facts.rows_read = rows_read_;
  facts.lacks_memory = lacks_memory_ ? 1 : 0;
  for (const Input& input : inputs_) {
    facts.file_bytes += static_cast<std::uint64_t>(input.identity.bytes);
  }
  return facts;
}

}  // namespace xxl::arrow_module
