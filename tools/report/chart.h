// Charts over time, as HTML with inline SVG: drawings that stretch with the page, words around them
// that do not.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace xxl::cli {

// What all charts of a page have below them. A value belongs to a bucket.
struct TimeAxis {
  double seconds = 0;              // of the whole
  std::vector<double> edges;       // of the buckets: one more than there are, in seconds
  std::vector<double> boundaries;  // where phases begin or end, in seconds
};

// A quantity over time.
struct Curve {
  std::string label;
  const char* colour;          // the name of a colour of the page's style: "blue"
  std::vector<double> values;  // of the buckets
};

struct Chart {
  std::string title;
  std::string summary;  // in words, shown below, and read to those who do not see the chart
  std::function<std::string(double)> text_of;  // a value with its unit
  std::vector<Curve> curves;
  bool stacked = false;  // areas upon each other; else lines
  bool binary = false;   // sizes in memory: the axis ends at a power of two or half way to it
  double end = 0;        // of the axis; 0: a round number above all values
  double limit = 0;      // a line across, if it is above 0
  std::string limit_label = {};
};

std::string draw(const Chart& chart, const TimeAxis& axis);

// How busy something was over time, from 0 to 1: a strip, the darker the busier.
struct Strip {
  std::string label;
  std::string note;  // "87 %"
  const char* colour;
  std::vector<double> values;
};

std::string draw(const std::vector<Strip>& strips, const TimeAxis& axis);

// "3.21 s", "3:25", "1:02:03".
std::string time_text(double seconds);
// "1.2 GB/s", "350 MB/s".
std::string rate_text(double bytes_per_second);

}  // namespace xxl::cli
