#include "run/sinks.h"

#include <exception>

#include "base/error.h"
#include "base/units.h"

namespace xxl {

void ScratchSink::put(const FinishedBlock& block) {
  if (run_.blocks.size() <= block.index) run_.blocks.resize(block.index + 1);
  const io::ScratchPlace place = store_.allocate(stripe_);
  run_.blocks[block.index] = {block.trigger, block.checksum, place};
  run_.records += block.bytes / record_bytes_;
  io::Request request;
  request.op = io::Op::write;
  request.file = &store_.file(place);
  request.offset = store_.offset(place);
  request.data = {block.buffer, round_up(block.bytes, kSectorBytes)};
  request.done = [this, file = request.file, offset = request.offset, buffer = block.buffer,
                  token = in_flight_.begin()](const io::Completion& completion) mutable {
    mailbox_.post([this, file, offset, buffer, completion] {
      --pending_;
      buffers_.give_back(buffer);
      if (completion.error != 0) {
        throw_io_error(completion.error, Operation::write, file->path(), offset);
      }
    });
    token.reset();
  };
  ++pending_;
  io_.queue_for(*request.file).submit(std::move(request));
}

void OutputSink::put(const FinishedBlock& block) {
  ++pending_;
  sink_->put(block.index, block.buffer, block.bytes,
             [this, buffer = block.buffer](const std::exception_ptr& failure) {
               mailbox_.post([this, buffer, failure] {
                 --pending_;
                 buffers_.give_back(buffer);
                 if (failure != nullptr) std::rethrow_exception(failure);
               });
             });
}

}  // namespace xxl
