// Limits of control groups, on trees of files like the kernel's.
#include "base/machine_limits.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/units.h"

namespace xxl {
namespace {

namespace fs = std::filesystem;

class ControlGroupsTest : public testing::Test {
 protected:
  ControlGroupsTest() {
    std::string name = (fs::temp_directory_path() / "xxl-groups-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~ControlGroupsTest() override { fs::remove_all(root_); }

  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  void mount_v2(const std::string& group, const std::string& mount_root = "/") {
    put("proc/self/cgroup", "0::" + group);
    put("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n35 25 0:30 " + mount_root +
                                   " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup rw");
  }
  // Another mount of version 2, which shows the group `mount_root` and those below it.
  void mount_part(const std::string& mount_root, const std::string& mount_point) {
    std::ofstream(root_ / "proc/self/mountinfo", std::ios::app)
        << "77 25 0:30 " << mount_root << " " << mount_point << " rw - cgroup2 cgroup rw\n";
  }
  void mount_v1(const std::string& group, const std::string& mount_root = "/") {
    put("proc/self/cgroup",
        "9:name=systemd:/\n4:memory:" + group + "\n2:cpu,cpuacct:" + group + "\n0::/");
    put("proc/self/mountinfo",
        "30 25 0:26 " + mount_root +
            " /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n31 25 0:27 " + mount_root +
            " /sys/fs/cgroup/cpu,cpuacct rw shared:1 - cgroup cgroup rw,cpu,cpuacct");
  }
  ControlGroups groups() const { return ControlGroups(root_.string()); }

  fs::path root_;
};

TEST_F(ControlGroupsTest, WithoutGroupsThereIsNoLimit) {
  EXPECT_EQ(groups().memory_bytes(), kUnlimited);
  EXPECT_EQ(groups().free_memory_bytes(), kUnlimited);
  EXPECT_EQ(groups().processors(), kUnlimited);
}

TEST_F(ControlGroupsTest, Version2LessWhatIsUsedButForPageCache) {
  mount_v2("/job");
  put("sys/fs/cgroup/job/memory.max", std::to_string(400 * kMiB));
  put("sys/fs/cgroup/job/memory.high", "max");
  put("sys/fs/cgroup/job/memory.current", std::to_string(300 * kMiB));
  put("sys/fs/cgroup/job/memory.stat", "anon 104857600\nfile 209715200\ninactive_file " +
                                           std::to_string(150 * kMiB) + "\nactive_file " +
                                           std::to_string(50 * kMiB));
  EXPECT_EQ(groups().memory_bytes(), 400 * kMiB);
  EXPECT_EQ(groups().free_memory_bytes(), 300 * kMiB);
}

TEST_F(ControlGroupsTest, Version2WhereUseIsSlowedDownIsALimit) {
  mount_v2("/job");
  put("sys/fs/cgroup/job/memory.max", "max");
  put("sys/fs/cgroup/job/memory.high", std::to_string(100 * kMiB));
  put("sys/fs/cgroup/job/memory.current", std::to_string(10 * kMiB));
  EXPECT_EQ(groups().free_memory_bytes(), 90 * kMiB);
}

TEST_F(ControlGroupsTest, Version2LimitsOnTheWayUpCount) {
  mount_v2("/a/b/c");
  put("sys/fs/cgroup/a/b/c/memory.max", std::to_string(900 * kMiB));
  put("sys/fs/cgroup/a/b/c/memory.current", "0");
  put("sys/fs/cgroup/a/memory.max", std::to_string(800 * kMiB));
  put("sys/fs/cgroup/a/memory.current", std::to_string(500 * kMiB));
  put("sys/fs/cgroup/a/cpu.max", "350000 100000");
  put("sys/fs/cgroup/a/b/c/cpu.max", "max 100000");
  EXPECT_EQ(groups().memory_bytes(), 800 * kMiB);
  EXPECT_EQ(groups().free_memory_bytes(), 300 * kMiB);
  EXPECT_EQ(groups().processors(), 4u);
}

TEST_F(ControlGroupsTest, Version1LessWhatIsUsedButForPageCache) {
  mount_v1("/job");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  put("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(900 * kMiB));
  put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(400 * kMiB));
  put("sys/fs/cgroup/memory/job/memory.usage_in_bytes", std::to_string(390 * kMiB));
  put("sys/fs/cgroup/memory/job/memory.stat",
      "inactive_file 1\nactive_file 1\ntotal_inactive_file " + std::to_string(200 * kMiB) +
          "\ntotal_active_file " + std::to_string(100 * kMiB));
  put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000");
  put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000");
  put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(groups().memory_bytes(), 400 * kMiB);
  EXPECT_EQ(groups().free_memory_bytes(), 310 * kMiB);
  EXPECT_EQ(groups().processors(), 1u);
}

// Seen from within a container whose mount begins at its own group, with the name that this has
// outside, and with one that lies outside.
TEST_F(ControlGroupsTest, AMountThatShowsOnlyTheContainer) {
  for (const char* group : {"/docker/1", "/", "/../other"}) {
    mount_v1(group, "/docker/1");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(100 * kMiB));
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(30 * kMiB));
    EXPECT_EQ(groups().free_memory_bytes(), 70 * kMiB) << group;
  }
}

TEST_F(ControlGroupsTest, AMountThatDoesNotShowTheGroupIsNoLimit) {
  for (const char* group : {"/", "/job", "/part_of", "/..part"}) {
    mount_v2(group);
    mount_part("/part", "/bind");
    put("bind/memory.max", std::to_string(20 * kMiB));
    put("bind/memory.current", "0");
    EXPECT_EQ(groups().memory_bytes(), kUnlimited) << group;
  }
}

TEST_F(ControlGroupsTest, AMountThatShowsTheGroupAndThoseAboveIt) {
  mount_v2("/part/of/it", "/elsewhere");
  mount_part("/part", "/bind");
  put("bind/of/it/memory.max", std::to_string(20 * kMiB));
  put("sys/fs/cgroup/memory.max", std::to_string(10 * kMiB));
  EXPECT_EQ(groups().memory_bytes(), 20 * kMiB);
}

TEST_F(ControlGroupsTest, GroupWhoseNameBeginsWithTwoDots) {
  mount_v2("/..job");
  put("sys/fs/cgroup/..job/memory.max", std::to_string(20 * kMiB));
  EXPECT_EQ(groups().memory_bytes(), 20 * kMiB);
}

TEST_F(ControlGroupsTest, MountPointWithBlanks) {
  mount_v2("/part", "/elsewhere");
  mount_part("/part", "/a\\040blank\\134");
  put("a blank\\/memory.max", std::to_string(20 * kMiB));
  EXPECT_EQ(groups().memory_bytes(), 20 * kMiB);
}

TEST_F(ControlGroupsTest, NothingIsFreeWhereMoreIsUsedThanAllowed) {
  mount_v2("/job");
  put("sys/fs/cgroup/job/memory.max", std::to_string(10 * kMiB));
  put("sys/fs/cgroup/job/memory.current", std::to_string(12 * kMiB));
  EXPECT_EQ(groups().free_memory_bytes(), 0u);
}

}  // namespace
}  // namespace xxl
