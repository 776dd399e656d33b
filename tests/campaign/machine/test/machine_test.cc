// The simulated machine: does it find what it is there to find, and is it the same each time?
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;

struct Outcome {
  int status = 0;      // of the process
  std::string output;  // lines
  std::map<std::string, std::string> report;
};

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class MachineTest : public ::testing::Test {
 protected:
  MachineTest() {
    std::string name = (fs::temp_directory_path() / "xxl-machine-XXXXXX").string();
    root_ = mkdtemp(name.data());
    fs::create_directory(root_ / "files");
    std::ofstream(root_ / "files/name") << std::string(8192, 'o');
  }
  ~MachineTest() override { fs::remove_all(root_); }

  Outcome run(const std::string& program, unsigned seed, const std::string& lines = {}) {
    fs::remove(root_ / "files/f");
    std::ofstream(root_ / "plan") << "seed " << seed << "\nroot " << root_.string()
                                  << "/files\nrole " << root_.string()
                                  << "/files output\nswitch 2\nreport " << root_.string()
                                  << "/report\n"
                                  << lines;
    // env is the last to start another program, and so the first that the machine runs.
    const std::string command =
        "cd " + root_.string() + " && rm -f report && timeout 20 env XXL_MACHINE=plan LD_PRELOAD=" +
        XXL_MACHINE_LIBRARY " " XXL_MACHINE_PROGRAM " " + program + " > out 2> err";
    Outcome outcome;
    outcome.status = std::system(command.c_str());
    outcome.output = read(root_ / "out");
    std::istringstream report(read(root_ / "report"));
    for (std::string line; std::getline(report, line);) {
      const std::size_t space = line.rfind(' ');
      outcome.report[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
      if (line.starts_with("struck"))
        outcome.report[line.substr(0, space)] = line.substr(space + 1);
    }
    return outcome;
  }

  fs::path root_;
};

TEST_F(MachineTest, ASeedIsAnOrderOfThreads) {
  std::set<std::string> orders;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const Outcome first = run("order", seed);
    const Outcome second = run("order", seed);
    EXPECT_EQ(first.output.size(), 61u);
    EXPECT_EQ(first.output, second.output);
    EXPECT_EQ(first.report.at("trace"), second.report.at("trace"));
    orders.insert(first.output);
  }
  EXPECT_GE(orders.size(), 9u);
}

TEST_F(MachineTest, FindsThreadsThatWaitForEver) {
  for (const char* const program : {"lost_wake_up", "two_locks"}) {
    unsigned hangs = 0;
    for (unsigned seed = 1; seed <= 40; ++seed) {
      const Outcome outcome = run(program, seed);
      const std::string& ended = outcome.report.at("ended");
      hangs += ended == "hang" ? 1 : 0;
      EXPECT_TRUE(ended == "hang" || ended == "exit 0") << ended;
      if (ended == "hang") EXPECT_TRUE(outcome.report.contains("stack"));
    }
    EXPECT_GT(hangs, 0u) << program;
    EXPECT_LT(hangs, 40u) << program;
  }
}

TEST_F(MachineTest, TimePassesWhenAllWait) {
  for (const char* const program : {"hours", "atomics"}) {
    const Outcome outcome = run(program, 3);
    EXPECT_EQ(outcome.report.at("ended"), "exit 0") << program;
    EXPECT_GE(std::stoll(outcome.report.at("time")), 3'600'000'000) << program;
  }
}

TEST_F(MachineTest, SaysWhatIsLeft) {
  const Outcome outcome = run("leaves", 3);
  EXPECT_EQ(outcome.report.at("threads"), "1");
  EXPECT_EQ(outcome.report.at("files"), "1");
}

TEST_F(MachineTest, TransfersFailAsPlanned) {
  EXPECT_EQ(run("transfer", 1).output, "8192 \n8192  1\n\n");
  EXPECT_EQ(run("transfer", 1, "fault output write enospc 1 1 1\n").output.substr(0, 9),
            "-1 ENOSPC");
  const Outcome cut = run("transfer", 1, "fault output write short 1 1 1\n");
  EXPECT_LT(std::stoi(cut.output), 8192);
  EXPECT_EQ(cut.report.at("struck output write short"), "1");
  for (const char* const effect : {"flip", "lost", "torn"}) {
    const Outcome outcome =
        run("transfer", 1, std::string("fault output write ") + effect + " 1 1 1\n");
    EXPECT_EQ(outcome.output, "8192 \n8192  0\n\n") << effect;
  }
  EXPECT_EQ(run("transfer", 1, "fault output read flip 1 1 1\n").output, "8192 \n8192  0\n\n");
  EXPECT_EQ(run("transfer", 1, "fault output read eio 1 1 1\n").output.substr(6, 6), "-1 EIO");
  EXPECT_EQ(run("transfer", 1, "fault output sync eio 1 1 1\n").output, "8192 \n8192  1\nEIO\n");
  const Outcome late = run("transfer", 1, "fault output sync stall 1 1 1\n");
  EXPECT_GT(std::stoll(late.report.at("time")), 100'000);
}

// What a power cut leaves of files/name, over many seeds: old, new, or neither.
TEST_F(MachineTest, APowerCutLosesWhatWasNotSynced) {
  const std::string old_content(8192, 'o');
  const std::string new_content(8192, 'n');
  const auto left = [&](const std::string& program) {
    const std::string at_last_step = "end power " + run(program, 1).report.at("steps") + "\n";
    std::set<char> seen;
    for (unsigned seed = 1; seed <= 30; ++seed) {
      std::ofstream(root_ / "files/name") << old_content;
      fs::remove(root_ / "files/new");
      EXPECT_EQ(run(program, seed, at_last_step).report.at("ended"), "power");
      const std::string content = read(root_ / "files/name");
      seen.insert(content == old_content ? 'o' : content == new_content ? 'n' : 'x');
    }
    return std::string(seen.begin(), seen.end());
  };
  EXPECT_EQ(left("replace"), "n");
  EXPECT_EQ(left("replace_unsynced_name"), "no");
  EXPECT_NE(left("replace_unsynced_data").find('x'), std::string::npos);
}

}  // namespace
