#include "memory.h"

#include <algorithm>

namespace xxl::machine {

void Memory::mapped(std::uint64_t address, std::uint64_t bytes) {
  unmapped(address, bytes);  // by MAP_FIXED
  maps_[address] = bytes;
  took(bytes);
}

void Memory::unmapped(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t end = address + bytes;
  auto map = maps_.upper_bound(address);
  if (map != maps_.begin()) --map;
  while (map != maps_.end() && map->first < end) {
    const std::uint64_t begin = map->first;
    const std::uint64_t map_end = begin + map->second;
    if (map_end <= address) {
      ++map;
      continue;
    }
    map = maps_.erase(map);
    if (begin < address) maps_[begin] = address - begin;
    if (map_end > end) maps_[end] = map_end - end;
    gave_back(std::min(end, map_end) - std::max(begin, address));
  }
}

}  // namespace xxl::machine
