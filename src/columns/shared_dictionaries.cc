#include "columns/shared_dictionaries.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/message.h"
#include "xxl/error.h"

namespace xxl {
namespace {

using Places = std::vector<std::uint32_t>;

// The places of the values of `own` in `all`, which takes those that are new, and tells of them.
Message add_own(const DictionaryTables& own, DictionaryTables& all) {
  MessageWriter writer;
  for (std::size_t id = 0; id < own.size(); ++id) {
    const std::size_t known = all[id].values().size();
    Places places;
    for (const std::string_view value : own[id].values()) {
      places.push_back(all[id].number_of(std::string(value)));
      if (all[id].is_ordered() && places.back() + 1 != places.size()) {
        throw Error(ErrorCode::bad_input,
                    "the dictionary of an ordered column has another order in other files: give it "
                    "the same one everywhere, or make the column text");
      }
    }
    writer.put(places.size());
    writer.put_bytes(std::as_bytes(std::span(places)));
    writer.put(all[id].values().size() - known);
    for (std::size_t i = known; i < all[id].values().size(); ++i) {
      writer.put_text(all[id].values()[i]);
    }
  }
  return writer.take();
}

// What a rank has told so. Its places go to `places`, by dictionary.
void add_told(const Message& message, DictionaryTables& all, DictionaryPlaces& places) {
  MessageReader reader(message);
  for (std::size_t id = 0; id < all.size(); ++id) {
    Places& of_rank = places[id].emplace_back(reader.get<std::size_t>());
    const auto bytes = reader.get_bytes(of_rank.size() * sizeof(Places::value_type));
    if (!bytes.empty()) std::memcpy(of_rank.data(), bytes.data(), bytes.size());
    for (auto more = reader.get<std::size_t>(); more > 0; --more) {
      all[id].number_of(reader.get_text());
    }
  }
}

}  // namespace

// One rank after the other, so that none has the values of another in memory that it knows.
SharedDictionaries share_dictionaries(const ColumnType& table, DictionaryTables&& own,
                                      std::uint64_t most_bytes, Peers* peers) {
  if (peers == nullptr) return {std::move(own), {}};
  SharedDictionaries shared{dictionary_tables(table, most_bytes), DictionaryPlaces(own.size())};
  if (own.empty()) return shared;
  for (unsigned rank = 0; rank < peers->ranks(); ++rank) {
    const bool is_own = rank == peers->rank();
    const auto told = tell_all(*peers, is_own ? add_own(own, shared.tables) : Message());
    add_told(told[rank], shared.tables, shared.places);
  }
  return shared;
}

}  // namespace xxl
