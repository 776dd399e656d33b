// What errors say.
#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/queue_failure.h"

namespace xxl {
namespace {

TEST(Error, SaysFilePlaceOperationAndReason) {
  const Error error(ErrorCode::io, "cannot read", "file", 17, EIO);
  EXPECT_STREQ(error.what(), "file: byte 17: cannot read: Input/output error");
}

TEST(Error, OfTooManyOpenFilesNamesTheLimit) {
  const std::string text =
      Error(ErrorCode::io, "cannot open", "file", Error::kNoOffset, EMFILE).what();
  EXPECT_TRUE(text.starts_with("file: cannot open: Too many open files")) << text;
}

TEST(Error, SaysWhatWasDoneWhateverTheFileIsCalled) {
  try {
    throw_io_error(EIO, Operation::write, "cannot read");
  } catch (const Error& error) {
    EXPECT_EQ(error.operation(), Operation::write);
    EXPECT_STREQ(error.what(), "cannot read: cannot write: Input/output error");
  }
}

TEST(Error, OfAFailedRingIsDescribedAsThat) {
  EXPECT_EQ(describe_errno(kRingFailed + EIO),
            "io_uring has failed (Input/output error): try --io=threads");
}

TEST(ErrorDeathTest, BrokenInvariantAborts) {
  EXPECT_DEATH(XXL_CHECK(1 > 2),
               "internal error: 1 > 2 does not hold at .*; no output file was written, and what is "
               "on standard output is not complete");
}

}  // namespace
}  // namespace xxl
