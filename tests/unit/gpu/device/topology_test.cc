#include "gpu/device/topology.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "gpu/device/pci_place.h"
#include "tests/unit/io_test_support.h"

namespace xxl::gpu {
namespace {

using Gpus = std::vector<std::size_t>;

constexpr double kPcie = 25e9;
constexpr double kNvlink = 250e9;

void connect(GpuLinks& links, std::size_t a, std::size_t b, double rate) {
  links.link(a, b) = links.link(b, a) = {.peer = true, .rate = rate};
}

void connect_all(GpuLinks& links, double rate) {
  for (std::size_t a = 0; a < links.size(); ++a) {
    for (std::size_t b = a + 1; b < links.size(); ++b) connect(links, a, b, rate);
  }
}

// Eight GPUs, four on each of two nodes, two behind each switch, all connected by NVLink.
GpuLinks eight_gpus_behind_four_switches() {
  GpuLinks links(8);
  for (std::size_t gpu = 0; gpu < links.size(); ++gpu) {
    links.gpu(gpu) = {.host_rate = kPcie,
                      .host_link = "switch " + std::to_string(gpu / 2),
                      .numa_node = static_cast<int>(gpu / 4)};
  }
  connect_all(links, kNvlink);
  return links;
}

void measure_together(GpuLinks& links, double shared_by_neighbours, double others) {
  for (std::size_t a = 0; a < links.size(); ++a) {
    links.gpu(a).host_both_rate = 2 * kPcie;
    for (std::size_t b = a + 1; b < links.size(); ++b) {
      links.set_together_rate(a, b, a / 2 == b / 2 ? shared_by_neighbours : others);
    }
  }
}

TEST(GpuTopology, no_gpus_have_an_order) {
  EXPECT_TRUE(order_gpus(GpuLinks(0)).empty());
  EXPECT_TRUE(choices_by_count(GpuLinks(0)).empty());
}

TEST(GpuTopology, gpus_that_are_alike_are_taken_by_index) {
  GpuLinks links(4);
  EXPECT_EQ(order_gpus(links), (Gpus{0, 1, 2, 3}));
  connect_all(links, kNvlink);
  EXPECT_EQ(order_gpus(links), (Gpus{0, 1, 2, 3}));
}

TEST(GpuTopology, each_switch_gets_a_gpu_before_any_gets_two) {
  EXPECT_EQ(order_gpus(eight_gpus_behind_four_switches()), (Gpus{0, 4, 2, 6, 1, 5, 3, 7}));
}

TEST(GpuTopology, numa_nodes_take_turns_where_nothing_is_known_of_switches) {
  GpuLinks links = eight_gpus_behind_four_switches();
  for (std::size_t gpu = 0; gpu < links.size(); ++gpu) links.gpu(gpu).host_link.clear();
  EXPECT_EQ(order_gpus(links), (Gpus{0, 4, 1, 5, 2, 6, 3, 7}));
}

TEST(GpuTopology, unknown_numa_nodes_are_not_one_node) {
  GpuLinks links(3);
  links.gpu(0).numa_node = 0;
  links.gpu(1).numa_node = 0;
  EXPECT_EQ(order_gpus(links), (Gpus{0, 2, 1}));
}

TEST(GpuTopology, a_shared_link_shows_when_two_gpus_are_measured_together) {
  GpuLinks links = eight_gpus_behind_four_switches();
  for (std::size_t gpu = 0; gpu < links.size(); ++gpu) {
    links.gpu(gpu).host_link.clear();
    links.gpu(gpu).numa_node = -1;
  }
  EXPECT_FALSE(share_host_link(links, 0, 1));
  measure_together(links, 2.1 * kPcie, 3.6 * kPcie);
  EXPECT_TRUE(share_host_link(links, 0, 1));
  EXPECT_TRUE(share_host_link(links, 1, 0));
  EXPECT_FALSE(share_host_link(links, 1, 2));
  EXPECT_EQ(order_gpus(links), (Gpus{0, 2, 4, 6, 1, 3, 5, 7}));
}

TEST(GpuTopology, a_switch_that_is_fast_enough_for_both_is_not_shared) {
  GpuLinks links = eight_gpus_behind_four_switches();
  EXPECT_TRUE(share_host_link(links, 0, 1));
  measure_together(links, 3.8 * kPcie, 3.8 * kPcie);
  EXPECT_FALSE(share_host_link(links, 0, 1));
}

TEST(GpuTopology, faster_host_links_are_taken_first) {
  GpuLinks links(3);
  links.gpu(0).host_rate = kPcie / 2;
  links.gpu(1).host_rate = kPcie;
  links.gpu(2).host_rate = kPcie;
  EXPECT_EQ(order_gpus(links), (Gpus{1, 2, 0}));
}

TEST(GpuTopology, noise_of_a_measurement_does_not_change_the_order) {
  GpuLinks links(3);
  links.gpu(0).host_rate = 0.95 * kPcie;
  links.gpu(1).host_rate = 1.00 * kPcie;
  links.gpu(2).host_rate = 0.97 * kPcie;
  connect(links, 0, 1, 0.96 * kNvlink);
  connect(links, 0, 2, kNvlink);
  connect(links, 1, 2, 0.98 * kNvlink);
  EXPECT_EQ(order_gpus(links), (Gpus{0, 1, 2}));
}

TEST(GpuTopology, a_slow_link_counts_less_than_a_shared_one) {
  GpuLinks links(3);
  links.gpu(0).host_link = links.gpu(1).host_link = "switch";
  links.gpu(2).host_rate /= 4;
  EXPECT_EQ(order_gpus(links), (Gpus{0, 2, 1}));
}

// Two pairs of GPUs, each pair with a bridge.
GpuLinks two_bridged_pairs() {
  GpuLinks links(4);
  connect(links, 0, 2, kNvlink);
  connect(links, 1, 3, kNvlink);
  return links;
}

TEST(GpuTopology, peers_of_the_gpus_taken_are_preferred) {
  EXPECT_EQ(order_gpus(two_bridged_pairs()), (Gpus{0, 2, 1, 3}));
  GpuLinks links = two_bridged_pairs();
  connect(links, 0, 3, 2 * kNvlink);
  EXPECT_EQ(order_gpus(links).at(1), 3);
}

TEST(GpuTopology, peers_with_fast_links_partition) {
  GpuLinks links(4);
  connect_all(links, kNvlink);
  EXPECT_EQ(choose_strategy(links, Gpus{0, 1, 2, 3}), MultiGpu::partition);
  EXPECT_EQ(choose_strategy(links, Gpus{3, 1}), MultiGpu::partition);
}

TEST(GpuTopology, one_gpu_is_independent) {
  EXPECT_EQ(choose_strategy(GpuLinks(1), Gpus{0}), MultiGpu::independent);
  EXPECT_EQ(choices_by_count(GpuLinks(2)).front().strategy, MultiGpu::independent);
}

TEST(GpuTopology, a_pair_that_is_no_peers_makes_all_independent) {
  const GpuLinks links = two_bridged_pairs();
  EXPECT_EQ(choose_strategy(links, Gpus{0, 2}), MultiGpu::partition);
  EXPECT_EQ(choose_strategy(links, Gpus{0, 1}), MultiGpu::independent);
  EXPECT_EQ(choose_strategy(links, Gpus{0, 1, 2, 3}), MultiGpu::independent);
}

TEST(GpuTopology, both_directions_of_a_link_count) {
  GpuLinks links(2);
  links.link(0, 1) = {.peer = true, .rate = kNvlink};
  EXPECT_EQ(choose_strategy(links, Gpus{0, 1}), MultiGpu::independent);
  links.link(1, 0) = {.peer = true, .rate = kNvlink};
  EXPECT_EQ(choose_strategy(links, Gpus{0, 1}), MultiGpu::partition);
}

TEST(GpuTopology, copies_through_the_host_make_no_peers_however_fast) {
  GpuLinks links(2);
  links.link(0, 1) = links.link(1, 0) = {.peer = false, .rate = kNvlink};
  EXPECT_EQ(choose_strategy(links, Gpus{0, 1}), MultiGpu::independent);
}

TEST(GpuTopology, peers_through_pcie_are_independent) {
  GpuLinks links(2);
  links.gpu(0).host_rate = links.gpu(1).host_rate = kPcie;
  connect_all(links, 1.1 * kPcie);
  EXPECT_EQ(choose_strategy(links, Gpus{0, 1}), MultiGpu::independent);
}

TEST(GpuTopology, what_is_assumed_tells_nvlink_from_pcie) {
  GpuLinks links(2);
  connect_all(links, kAssumedPciePeerRate);
  EXPECT_EQ(choose_strategy(links, Gpus{0, 1}), MultiGpu::independent);
  connect_all(links, kAssumedNvlinkRate);
  EXPECT_EQ(choose_strategy(links, Gpus{0, 1}), MultiGpu::partition);
}

TEST(GpuTopology, choices_are_for_powers_of_two_and_all) {
  GpuLinks links(6);
  connect_all(links, kNvlink);
  std::vector<std::size_t> counts;
  for (const GpuChoice& choice : choices_by_count(links)) {
    counts.push_back(choice.gpus.size());
    EXPECT_EQ(choice.gpus.front(), 0);
  }
  EXPECT_EQ(counts, (std::vector<std::size_t>{1, 2, 4, 6}));
  EXPECT_EQ(choices_by_count(GpuLinks(1)).size(), 1);
  EXPECT_EQ(choices_by_count(GpuLinks(4)).size(), 3);
}

TEST(GpuTopology, strategies_are_named_as_on_the_command_line) {
  EXPECT_EQ(strategy_name(MultiGpu::automatic), "auto");
  EXPECT_EQ(strategy_name(MultiGpu::independent), "independent");
  EXPECT_EQ(strategy_name(MultiGpu::p2p_merge), "p2p-merge");
  EXPECT_EQ(strategy_name(MultiGpu::partition), "partition");
}

// A tree of PCI devices as Linux shows it.
class DeviceTree {
 public:
  // `place`: "pci0000:00/0000:00:01.0/0000:01:00.0", the last part is the device.
  void add(const std::string& place, const std::string& numa_node) {
    const std::filesystem::path device = std::filesystem::path(root_ / "devices") / place;
    std::filesystem::create_directories(device);
    std::ofstream(device / "numa_node") << numa_node << "\n";
    std::filesystem::create_directories(links());
    std::filesystem::create_symlink(device, links() / device.filename());
  }
  std::filesystem::path links() const { return root_ / "bus"; }

 private:
  io::test::TempDirectory root_;
};

TEST(PciPlace, devices_behind_one_switch_have_one_host_link) {
  DeviceTree tree;
  tree.add("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:0a:00.0", "0");
  tree.add("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:0b:00.0", "0");
  tree.add("pci0000:80/0000:80:01.0/0000:81:00.0", "1");
  const PciPlace a = find_pci_place("0000:0A:00.0", tree.links());
  const PciPlace b = find_pci_place("0000:0b:00.0", tree.links());
  const PciPlace c = find_pci_place("0000:81:00.0", tree.links());
  EXPECT_EQ(a.host_link, "pci0000:00/0000:00:01.0");
  EXPECT_EQ(a.host_link, b.host_link);
  EXPECT_EQ(c.host_link, "pci0000:80/0000:80:01.0");
  EXPECT_EQ(a.numa_node, 0);
  EXPECT_EQ(c.numa_node, 1);
}

TEST(PciPlace, devices_without_a_port_have_links_of_their_own) {
  DeviceTree tree;
  tree.add("pci0000:00/0000:00:05.0", "-1");
  tree.add("pci0000:00/0000:00:06.0", "-1");
  const PciPlace a = find_pci_place("0000:00:05.0", tree.links());
  EXPECT_NE(a.host_link, find_pci_place("0000:00:06.0", tree.links()).host_link);
  EXPECT_EQ(a.numa_node, -1);
}

TEST(PciPlace, what_linux_does_not_tell_is_unknown) {
  const DeviceTree tree;
  const PciPlace place = find_pci_place("0000:0a:00.0", tree.links());
  EXPECT_EQ(place.host_link, "");
  EXPECT_EQ(place.numa_node, -1);
}

}  // namespace
}  // namespace xxl::gpu
