// The promises of IoService: which queue a file gets, and what all queues have in common.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/memory_region.h"
#include "io/io_queue.h"
#include "io/thread_queue.h"
#include "tests/unit/io_test_support.h"

namespace xxl::io {
namespace {

using test::Completions;
using test::Pipe;
using test::TempDirectory;

// For a process of its own; 0 when the service fell back to threads and says why.
int use_service_without_uring() {
  if (!test::make_system_call_fail(SYS_io_uring_setup, EPERM)) return test::kCannotFilter;
  IoService service(Backend::automatic, {});
  const std::string expected = "threads (io_uring refused: Operation not permitted)";
  if (service.backend_name() != expected) return 1;
  TempDirectory directory;
  MemoryRegion memory(4096);
  const File file = File::create_unnamed(directory.path());
  Completions completions;
  service.queue_for(file).submit({Op::write, &file, 0, memory.span(), completions.expect()});
  return completions.result().error == 0 ? 0 : 2;
}

TEST(IoServiceDeathTest, FallsBackToThreadsWhereIoUringIsForbidden) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "threads are taken in any case";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(use_service_without_uring()), test::ended_well, "");
}

int demand_uring_without_uring() {
  if (!test::make_system_call_fail(SYS_io_uring_setup, ENOSYS)) return test::kCannotFilter;
  IoService service(Backend::io_uring, {});
  TempDirectory directory;
  const File file = File::create_unnamed(directory.path());
  if (!file.direct()) return test::kCannotFilter;
  try {
    service.queue_for(file);
  } catch (const Error& error) {
    return error.code() == ErrorCode::io && error.sys_errno() == ENOSYS ? 0 : 1;
  }
  return 2;
}

TEST(IoServiceDeathTest, SaysSoWhenIoUringIsDemandedAndForbidden) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(demand_uring_without_uring()), test::ended_well, "");
}

TEST(IoService, GoesOnWhereAQueueCouldNotBeMade) {
  bool fails = true;
  IoService service([&]() -> std::unique_ptr<IoQueue> {
    if (fails) throw Error(ErrorCode::io, "no threads");
    return std::make_unique<ThreadQueue>(1);
  });
  const File file = File::create_unnamed(testing::TempDir());
  EXPECT_THROW(service.queue_for(file), Error);
  EXPECT_EQ(service.stats().requests, 0U);
  service.cancel_streams();
  fails = false;
  EXPECT_EQ(service.queue_for(file).name(), "threads");
}

TEST(IoService, CancelsTheStreamsOfAllQueuesAndOfThoseToCome) {
  TempDirectory directory;
  ASSERT_EQ(mkfifo((directory / "fifo").c_str(), 0600), 0);
  const File fifo(open((directory / "fifo").c_str(), O_RDWR | O_CLOEXEC), "fifo", false);
  Pipe pipe;
  MemoryRegion memory(8192);
  IoService service([] { return std::make_unique<ThreadQueue>(1); });
  Completions completions;
  service.queue_for(pipe.read_end)
      .submit({Op::read, &pipe.read_end, Request::kStream, memory.span().first(4096),
               completions.expect(0)});
  service.cancel_streams();
  service.queue_for(fifo).submit(
      {Op::read, &fifo, Request::kStream, memory.span().subspan(4096), completions.expect(1)});
  EXPECT_NE(&service.queue_for(fifo), &service.queue_for(pipe.read_end));
  EXPECT_EQ(completions.result(0).error, ECANCELED);
  EXPECT_EQ(completions.result(1).error, ECANCELED);
}

TEST(IoService, HasOneQueueForEachDevice) {
  TempDirectory directory;
  IoService service(Backend::threads, {}, 2);
  const File a = File::create_unnamed(directory.path());
  const File b = File::create_unnamed(directory.path());
  Pipe pipe;
  EXPECT_EQ(&service.queue_for(a), &service.queue_for(b));
  EXPECT_NE(&service.queue_for(a), &service.queue_for(pipe.read_end));
}

TEST(IoService, LeavesAllThatIsCopiedToThreads) {
  TempDirectory directory;
  const Pipe pipe;
  const File buffered = File::create_unnamed(directory.path(), false);
  const File null(open("/dev/null", O_WRONLY | O_CLOEXEC), "/dev/null", false);
  for (const Backend backend : {Backend::automatic, Backend::io_uring}) {
    IoService service(backend, {}, 2);
    for (const File* const file : {&pipe.read_end, &pipe.write_end, &buffered, &null}) {
      EXPECT_EQ(service.queue_for(*file).name(), "threads");
    }
  }
}

TEST(IoService, CopiesToFilesInMemoryWithThreads) {
  struct statfs system {};
  if (statfs("/dev/shm", &system) != 0 || system.f_type != TMPFS_MAGIC) {
    GTEST_SKIP() << "no tmpfs at /dev/shm";
  }
  IoService service(Backend::automatic, {}, 2);
  const File file = File::create_unnamed("/dev/shm");
  EXPECT_EQ(service.queue_for(file).name(), "threads");
}

TEST(IoService, SumsTheStatsOfItsQueues) {
  TempDirectory directory;
  MemoryRegion memory(8192);
  IoService service([] { return std::make_unique<ThreadQueue>(1); });
  const File file = File::create_unnamed(directory.path());
  Pipe pipe;
  Completions completions;
  service.queue_for(file).submit({Op::write, &file, 0, memory.span(), completions.expect()});
  service.queue_for(pipe.write_end)
      .submit({Op::write, &pipe.write_end, Request::kStream, memory.span(), completions.expect()});
  completions.wait();
  EXPECT_EQ(service.stats().requests, 2);
  EXPECT_EQ(service.stats().bytes_written, 2 * memory.size());
}

}  // namespace
}  // namespace xxl::io
