// Records with the ranks of their keys, and the outputs of sets and of --keep-order.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "job.h"

namespace xxl::campaign {

struct Ranked {
  std::string record;    // with its end
  std::size_t rank = 0;  // lower for a lower key, equal for an equal one
};

struct RankedInputs {
  std::string header;
  std::vector<std::vector<Ranked>> inputs;
};

template <typename Key, typename Less = std::less<>>
std::map<Key, std::size_t, Less> ranks_of(const std::vector<Key>& keys, Less less = {}) {
  std::map<Key, std::size_t, Less> ranks(less);
  for (const Key& key : keys) ranks.emplace(key, 0);
  std::size_t next = 0;
  for (auto& [key, rank] : ranks) rank = next++;
  return ranks;
}

// The records that --skip, --limit and --head-count leave, one after the other.
std::string cut_records(const Job& job, const std::vector<std::string>& records);

// The output of a job `set`.
std::string set_reference(const Job& job, const RankedInputs& ranked);

// The output of a job `sort --unique --keep-order`.
std::string first_of_each_key(const Job& job, const RankedInputs& ranked);

}  // namespace xxl::campaign
