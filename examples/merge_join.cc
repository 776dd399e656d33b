// Joins two relations by sorting both side by side: what each customer has spent.
#include <xxl/join_sorted.h>
#include <xxl/sorter.h>

#include <cstdint>
#include <cstdio>
#include <vector>

struct Customer {
  std::uint64_t id;
  std::uint32_t country;
};
struct Order {
  std::uint64_t customer;
  std::uint32_t amount;
};

int main() {
  constexpr std::uint64_t kIds = 1'000'003;
  const xxl::resources shared({.memory_bytes = 32 << 20, .users = 2});
  xxl::sorter customers(xxl::by(&Customer::id), shared);
  xxl::sorter orders(xxl::by(&Order::customer), shared);
  std::vector<std::uint64_t> spent(kIds);  // only to check the result
  for (std::uint64_t i = 0; i < 500'000; ++i) customers.push({i * 2654435761u % kIds, 7});
  for (std::uint64_t i = 0; i < 2'000'000; ++i) {
    // Every tenth order is of customer 0, who has more of them than fit in the memory of the join.
    const Order order{i % 10 == 0 ? 0 : i * 7919 % kIds, static_cast<std::uint32_t>(i % 100)};
    orders.push(order);
    spent[order.customer] += order.amount;
  }
  std::uint64_t buyers = 0, wrong = 0, sum = 0;
  for (const auto& step :
       xxl::join(customers, orders, &Customer::id, &Order::customer, {.memory_bytes = 1 << 20})) {
    for (const Order& order : step.s) sum += order.amount;
    if (!step.last_of_key) continue;  // more orders of this customer follow
    wrong += sum != spent[step.r.front().id];
    sum = 0;
    ++buyers;
  }
  std::printf("%llu customers have orders\n", static_cast<unsigned long long>(buyers));
  return wrong == 0 && buyers > 400'000 && buyers < 500'000 ? 0 : 1;
}
