// One dictionary out of those of several ranks (docs/cluster.md).
#pragma once

#include "cluster/peers.h"
#include "columns/column_type.h"
#include "columns/dictionary_table.h"

namespace xxl {

struct SharedDictionaries {
  DictionaryTables tables;  // of the values of all ranks, in their order
  DictionaryPlaces places;
};

// Steps of all ranks. `own` are those of `table` of this rank, whose numbers are
// DictionaryNumbers{rank, ranks}. Throws Error{no_space} if those of all take more than
// `most_bytes`.
SharedDictionaries share_dictionaries(const ColumnType& table, const DictionaryTables& own,
                                      std::uint64_t most_bytes, Peers& peers);

}  // namespace xxl
