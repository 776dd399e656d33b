// Where the text that a job makes goes: to its output, to the part of one of several jobs in that
// of all (shared_job.h), or to a caller.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/checksum.h"
#include "base/monitor.h"
#include "io/io_queue.h"
#include "job/general_sort/general_memory.h"
#include "job/general_sort/shared_job.h"
#include "job/job.h"
#include "job/output.h"
#include "record/key_extractor.h"
#include "run/byte_sink.h"
#include "run/general_output.h"
#include "run/output_parts.h"

namespace xxl {

class GeneralDestination {
 public:
  // `shared`: null if the job is the only one. All references must outlive it.
  GeneralDestination(const JobOptions& job, SharedJob* shared, Monitor& monitor)
      : job_(job), shared_(shared), monitor_(monitor) {}

  // Before anything is read: reserves `bytes`. `is_known`: what the output takes will be known when
  // writing begins, as a number of parts needs. `follows_scratch`: as Output. Throws Error.
  void open(bool is_known, std::uint64_t bytes, bool follows_scratch = false);
  // As Output.
  void take_space_of(io::ScratchStore* scratch) {
    if (output_ != nullptr) output_->take_space_of(scratch);
  }
  // False if something may have been seen of it before the end.
  bool appears_at_end() const { return output_ == nullptr || output_->appears_at_end(); }
  // If it is cut into parts in memory, from how many places `bytes`, all of them from `runs` in
  // cells of `cell_bytes`, can be written at a time by `threads` (docs/internals/parts.md);
  // otherwise 1.
  std::size_t streams(std::uint64_t bytes, std::size_t runs, std::uint64_t cell_bytes,
                      std::size_t threads) const;

  // Text goes here from now on, through the buffers of `memory`, which is not divided again.
  // `bytes`, `key` and `record_bytes` as Output::cut_parts(). The references must outlive it.
  GeneralOutput& begin(std::uint64_t bytes, PartKey key, std::size_t record_bytes,
                       GeneralMemory& memory, io::IoService& io);
  GeneralOutput& text() { return *text_; }
  const GeneralOutput& text() const { return *text_; }
  Ticket& tickets() { return tickets_; }         // of what is written next
  OutputParts* parts() const { return parts_; }  // if it is cut into some

  // As SharedJob::sums(); of this job alone, if it is.
  std::vector<MultisetHash> sums(std::span<const MultisetHash> counted) const;
  // Makes the output appear, and ends the phase "finish" of `meter`, as Output::publish().
  // REQUIRES: all is written. True if an existing file was written in place.
  bool publish(io::IoService& io, PhaseMeter& meter, io::ReadBack::Reader reader = {});

 private:
  // A caller gets the part of this job only.
  SharedJob* shared_output() const { return job_.output_caller == nullptr ? shared_ : nullptr; }

  const JobOptions& job_;
  SharedJob* const shared_;
  Monitor& monitor_;
  std::unique_ptr<Output> output_;  // null if it is shared
  OutputParts* parts_ = nullptr;
  std::unique_ptr<ByteSink> sink_;
  std::unique_ptr<GeneralOutput> text_;
  Ticket tickets_{};
};

}  // namespace xxl
