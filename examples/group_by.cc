// Groups larger than memory: sums by key, as SELECT user, sum(amount) ... GROUP BY user.
#include <xxl/sorter.h>

#include <cstdint>
#include <cstdio>

struct Payment {
  std::uint64_t user;
  std::int64_t amount;
};

int main() {
  xxl::sorter payments(xxl::by(&Payment::user), {.memory_bytes = 16 << 20});
  for (std::uint64_t i = 0; i < 3'000'000; ++i)
    payments.push({.user = i * i % 1'000'003, .amount = 1});
  std::uint64_t users = 0;
  std::int64_t total = 0;
  const auto add = [](std::int64_t& sum, const Payment& payment) { sum += payment.amount; };
  for (auto [user, sum] : payments.fold_by(&Payment::user, std::int64_t{0}, add)) {
    ++users;
    total += sum;
  }
  std::printf("%llu users, %lld in all\n", static_cast<unsigned long long>(users),
              static_cast<long long>(total));
  return total == 3'000'000 ? 0 : 1;
}
