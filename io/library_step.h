// A call of a library that keeps its places in an input and an output: zlib, bzip2, liblzma.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace xxl::io {

// Makes the call for the beginnings of `in` and `out`. Returns the bytes used and made.
template <class Library, class Call>
std::pair<std::size_t, std::size_t> library_step(Library& stream, std::span<const std::byte> in,
                                                 std::span<std::byte> out, Call&& call) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // zlib counts in 32 bits
  const std::size_t in_bytes = std::min(in.size(), kMostBytes);
  const std::size_t out_bytes = std::min(out.size(), kMostBytes);
  stream.next_in = reinterpret_cast<decltype(stream.next_in)>(const_cast<std::byte*>(in.data()));
  stream.next_out = reinterpret_cast<decltype(stream.next_out)>(out.data());
  stream.avail_in = static_cast<decltype(stream.avail_in)>(in_bytes);
  stream.avail_out = static_cast<decltype(stream.avail_out)>(out_bytes);
  call();
  return {in_bytes - stream.avail_in, out_bytes - stream.avail_out};
}

}  // namespace xxl::io
