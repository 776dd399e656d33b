// Sorts and joins arrays in memory: on GPUs, where there are any that pay, else on all processors.
#include <xxl/array.h>

#include <cstdint>
#include <cstdio>
#include <vector>

struct Station {
  std::uint32_t id;
  float height;
};
struct Reading {
  std::uint32_t station;
  float degrees;
  std::uint64_t time;
};

int main() {
  std::vector<Station> stations(1000);
  for (std::uint32_t i = 0; i < 1000; ++i) stations[i] = {i * 7919 % 1000, 10.0f * i};
  std::vector<Reading> readings(2'000'000);
  for (std::uint32_t i = 0; i < readings.size(); ++i) {
    readings[i] = {i * 2654435761u % 2000, static_cast<float>(i % 97), i};
  }

  // By station, the hottest ones first; in order of time where they are equal.
  const xxl::array_report sorted =
      xxl::sort_array(readings, xxl::by(&Reading::station, xxl::desc(&Reading::degrees)));
  for (std::size_t i = 1; i < readings.size(); ++i) {
    const Reading &a = readings[i - 1], &b = readings[i];
    if (a.station > b.station) return 1;
    if (a.station == b.station && a.degrees < b.degrees) return 1;
    if (a.station == b.station && a.degrees == b.degrees && a.time > b.time) return 1;
  }

  // Each station with its readings; half of the readings have no station that is known.
  const xxl::array_join joined =
      xxl::join_arrays(stations, xxl::by(&Station::id), readings, xxl::by(&Reading::station));
  for (const auto& [station, reading] : joined.pairs) {
    if (stations[station].id != readings[reading].station) return 1;
  }
  std::printf("%zu readings sorted on %s, %zu joined on %s\n", readings.size(),
              sorted.devices.front().c_str(), joined.pairs.size(),
              joined.report.devices.front().c_str());
  return joined.pairs.size() > 900'000 && joined.pairs.size() < 1'100'000 ? 0 : 1;
}
