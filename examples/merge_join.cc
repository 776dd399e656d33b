// Joins two relations by sorting both side by side: each order with its customer.
#include <xxl/join_sorted.h>
#include <xxl/sorter.h>

#include <cstdint>
#include <cstdio>

struct Customer {
  std::uint64_t id;
  std::uint32_t country;
};
struct Order {
  std::uint64_t customer;
  std::uint32_t amount;
};

int main() {
  const xxl::resources shared({.memory_bytes = 32 << 20, .users = 2});
  xxl::sorter<Customer> customers(xxl::by(&Customer::id), shared);
  xxl::sorter<Order> orders(xxl::by(&Order::customer), shared);
  for (std::uint64_t i = 0; i < 500'000; ++i) customers.push({i * 2654435761u % 1'000'003, 7});
  for (std::uint64_t i = 0; i < 2'000'000; ++i) orders.push({i * 7919 % 1'000'003, 1});
  std::uint64_t joined = 0;
  for (const auto& [customer, ordered] :
       xxl::join(customers, orders, &Customer::id, &Order::customer)) {
    for (const Order& order : ordered) joined += order.amount * customer.size();
  }
  std::printf("%llu orders have a customer\n", static_cast<unsigned long long>(joined));
  return joined > 900'000 && joined < 1'100'000 ? 0 : 1;
}
