// One dictionary out of those of several ranks (docs/internals/cluster.md).
#pragma once

#include "cluster/peers.h"
#include "columns/column_type.h"
#include "columns/dictionary_table.h"

namespace xxl {

struct SharedDictionaries {
  DictionaryTables tables;  // of the values of all ranks, in their order
  DictionaryPlaces places;
};

inline DictionaryNumbers numbers_of(const Peers* peers) {
  return peers != nullptr ? DictionaryNumbers{peers->rank(), peers->ranks()} : DictionaryNumbers{};
}

// Steps of all ranks. `own` are those of `table` of this rank, whose numbers are
// numbers_of(peers). Throws Error{no_space} if those of all take more than `most_bytes`. Without
// `peers` they are `own`.
SharedDictionaries share_dictionaries(const ColumnType& table, DictionaryTables&& own,
                                      std::uint64_t most_bytes, Peers* peers);

}  // namespace xxl
