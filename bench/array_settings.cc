#include "array_settings.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.h"

namespace xxl::bench {
namespace {

std::uint64_t parse_amount(std::string_view text, std::string_view option) {
  constexpr std::string_view kSuffixes = "kMGT";
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const std::size_t suffix = end - rest == 1 ? kSuffixes.find(*rest) : kSuffixes.npos;
  if (error != std::errc{} || (rest != end && suffix == kSuffixes.npos)) {
    throw Error(ErrorCode::usage, "invalid value of " + std::string(option));
  }
  for (std::size_t i = 0; rest != end && i <= suffix; ++i) value *= 1000;
  return value;
}

std::vector<std::uint64_t> parse_amounts(std::string_view text, std::string_view option) {
  std::vector<std::uint64_t> values;
  for (;;) {
    const std::size_t comma = text.find(',');
    values.push_back(parse_amount(text.substr(0, comma), option));
    if (comma == text.npos) return values;
    text.remove_prefix(comma + 1);
  }
}

void set(Settings& settings, std::string_view name, std::string_view value) {
  const auto amount = [&](std::string_view option, std::uint64_t& to) {
    if (name == option) to = parse_amount(value, name);
    return name == option;
  };
  const auto amounts = [&](std::string_view option, std::vector<std::uint64_t>& to) {
    if (name == option) to = parse_amounts(value, name);
    return name == option;
  };
  if (amount("--bytes", settings.bytes) || amount("--memory", settings.memory_bytes) ||
      amount("--disks", settings.disks) || amount("--latency", settings.latency_us) ||
      amount("--depth", settings.depth) || amount("--movers", settings.movers) ||
      amount("--repeat", settings.repetitions) || amounts("--threads", settings.threads) ||
      amounts("--bandwidth", settings.bandwidths) ||
      amounts("--mover-processors", settings.mover_processors)) {
    return;
  }
  if (name == "--record") {
    settings.record = value;
  } else if (name == "--dir") {
    settings.directory = value;
  } else if (name == "--copy" && (value == "cached" || value == "streaming")) {
    settings.copy = value == "cached" ? CopyKind::cached : CopyKind::streaming;
  } else if (name == "--forget-input") {
    settings.forget_input = true;
  } else if (name == "--header") {
    settings.header = true;
  } else if (name == "--rate") {
    settings.rate = true;
  } else {
    throw Error(ErrorCode::usage, "what is " + std::string(name) + "? See bench/array.cc");
  }
}

}  // namespace

Settings parse_settings(const std::vector<std::string>& words) {
  Settings settings;
  for (const std::string& word : words) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::size_t value = std::min(equals + 1, word.size());
    set(settings, std::string_view(word).substr(0, equals), std::string_view(word).substr(value));
  }
  const auto is_zero = [](std::uint64_t value) { return value == 0; };
  if (is_zero(settings.disks) || is_zero(settings.depth) ||
      settings.movers + settings.mover_processors.size() == 0 ||
      std::ranges::any_of(settings.threads, is_zero) ||
      std::ranges::any_of(settings.bandwidths, is_zero)) {
    throw Error(ErrorCode::usage, "disks, depth, movers, threads and bandwidth are above 0");
  }
  return settings;
}

}  // namespace xxl::bench
