// Records that are long beside the memory: what a sort must hold of them, how that is found out
// when there is too little, and the error that says how much would be enough.
//
//     a record does not fit    LongRecordError{what must be held}     where it is read or merged
//     -S that would be enough  least_memory(its plan accepts that)    where the job is planned
//     "give at least -S 8M"    refuse_long_records()
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/least_memory.h"
#include "job/inputs.h"
#include "merge/merge_source.h"
#include "merge/run_cursor.h"
#include "record/record_lengths.h"

namespace xxl {

// In bytes.
struct LongRecords {
  std::size_t longest = 0;  // record
  std::size_t merged = 0;   // of blocks that a merge of two runs holds at once
};

// `has_groups`: the record before is held, too.
LongRecords long_records(const RecordLengths::Longest& longest, bool has_groups);
// Those of runs, whose largest blocks are known.
LongRecords long_records(std::span<const MergeSource> runs, bool has_groups);

// A record does not fit. Who planned the memory adds which -S would be enough.
class LongRecordError : public Error {
 public:
  // `message`: what is wrong; what to do is added to it.
  LongRecordError(const std::string& message, const LongRecords& needs,
                  const std::string& path = {}, std::uint64_t offset = kNoOffset)
      : Error(ErrorCode::no_space, message + "give more", path, offset),
        message_(message),
        needs_(needs) {}

  const LongRecords& needs() const { return needs_; }
  // The same error with `advice`.
  [[noreturn]] void rethrow(const std::string& advice) const {
    throw Error(code(), message_ + advice, path(), offset());
  }

 private:
  std::string message_;
  LongRecords needs_;
};

// "a record of 6 MiB is too long for the memory of -S (4 MiB): ". `bytes`: of the record that does
// not fit, `longest`: of those after it. `open_quote`: where a quote is that keeps it open, or
// empty. What to do follows it.
std::string too_long(std::uint64_t bytes, std::uint64_t longest, std::uint64_t given_bytes,
                     const std::string& open_quote);

// Reads `inputs` on from byte `position` of number `input`, behind what `lengths` has seen: to the
// end of the record that has begun, and at most a GiB of what follows.
void read_on(Inputs& inputs, std::size_t input, std::uint64_t position, const std::stop_token& stop,
             RecordLengths& lengths);

// The longest records of `file`, of its first GiB; none if it cannot be read again.
RecordLengths::Longest longest_of(io::File& file, const RecordSyntax& syntax,
                                  const std::stop_token& stop);

// Runs `work`; where records are too long for the memory, throws Error{no_space} that says which -S
// would be enough. `given`: -S; `accepts(memory, LongRecords)`: whether that is enough of it.
// `merged`: what is known to be held in merges, called where one has failed.
template <class Work, class Merged, class Accepts>
void with_memory_advice(std::uint64_t given, Work&& work, Merged&& merged, Accepts&& accepts) {
  const auto advice = [&](const LongRecords& needs) {
    return memory_advice(
        least_memory(given + 1, [&](std::uint64_t memory) { return accepts(memory, needs); }));
  };
  try {
    work();
  } catch (const LongRecordError& error) {
    error.rethrow(advice(error.needs()));
  } catch (const BlockTooLong& error) {
    LongRecords needs = merged();
    // Three of them at most are held.
    if (needs.longest == 0) needs = {error.bytes(), 3 * error.bytes()};
    LongRecordError("records of " + format_bytes(needs.longest) +
                        " are too long to be merged with " + memory_of_name(given) + ": ",
                    needs)
        .rethrow(advice(needs));
  }
}

}  // namespace xxl
