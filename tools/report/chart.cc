#include "report/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "report/html.h"
#include "report/report_text.h"

namespace xxl::cli {
namespace {

// Of drawings, whose sides are stretched independently.
constexpr double kWidth = 1000;
constexpr double kHeight = 100;
constexpr double kMostTicks = 6;
constexpr std::size_t kMostTips = 120;  // places at which the values can be read
constexpr int kShades = 10;

std::string number(double value) {
  std::string text = decimal_text(value, 1);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string percent(double part) {
  return decimal_text(100 * part, 2) + "%";
}

// The end of an axis: a round number that is not below `value`.
double round_end(double value, bool binary) {
  if (value <= 0) return 1;
  const double base = binary ? 2 : 10;
  const double unit = std::pow(base, std::floor(std::log(value) / std::log(base)));
  for (const double times : {1.0, 1.5, 2.0, 4.0, 5.0, 10.0}) {
    if (binary || times != 1.5) {
      if (times * unit >= value * 0.9999) return times * unit;
    }
  }
  return 10 * unit;
}

double round_step(double seconds) {
  const double least = seconds / kMostTicks;
  for (const double step : {1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0,
                            1800.0, 3600.0, 7200.0, 14400.0, 28800.0, 86400.0}) {
    if (least <= step && least > 0.5) return step;
  }
  return round_end(least, false);
}

double x_of(double seconds, const TimeAxis& axis) {
  return axis.seconds > 0 ? std::min(seconds / axis.seconds, 1.0) * kWidth : 0;
}

std::string time_ticks(const TimeAxis& axis) {
  std::string out = "<div class=\"x\" aria-hidden=\"true\">";
  const double step = round_step(axis.seconds);
  for (double at = 0; at <= axis.seconds * 0.97; at += step) {
    out.append("<span style=\"left:").append(percent(at / std::max(axis.seconds, 1e-9)));
    out.append("\">").append(at == 0 ? "0" : time_text(at)).append("</span>");
  }
  return out + "</div>";
}

std::string boundary_lines(const TimeAxis& axis) {
  std::string out;
  for (const double at : axis.boundaries) {
    const std::string x = number(x_of(at, axis));
    out.append("<path class=\"edge\" d=\"M" + x + " 0V100\"/>");
  }
  return out;
}

std::string svg_begin(const char* kind, const std::string& label) {
  return std::string("<svg class=\"") + kind + "\" shape-rendering=\"" +
         (std::string_view(kind) == "band" ? "crispEdges" : "auto") +
         "\" viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"" +
         html(label) + "\">";
}

// The curve from the first bucket to the last, "x y x y ...": a step for each bucket would flicker,
// so it goes through their middles. `top(i)`: in units of the axis, whose end is `end`.
template <class Top>
std::string points(const TimeAxis& axis, std::size_t count, double end, const Top& top) {
  std::string out;
  const auto point = [&](double seconds, std::size_t i) {
    out.append(out.empty() ? "" : " ").append(number(x_of(seconds, axis))).append(" ");
    out.append(number(kHeight - std::min(top(i) / end, 1.0) * kHeight));
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (i == 0) point(axis.edges.front(), 0);
    point((axis.edges[i] + axis.edges[i + 1]) / 2, i);
    if (i + 1 == count) point(axis.edges[i + 1], i);
  }
  return out;
}

std::string tips(const Chart& chart, const TimeAxis& axis, std::size_t count) {
  const std::size_t each = (count + kMostTips - 1) / kMostTips;
  std::string out;
  for (std::size_t first = 0; first < count; first += each) {
    const std::size_t last = std::min(first + each, count);
    const double from = axis.edges[first], to = axis.edges[last];
    out.append("<rect class=\"tip\" x=\"" + number(x_of(from, axis)) + "\" y=\"0\" width=\"" +
               number(x_of(to, axis) - x_of(from, axis)) + "\" height=\"100\"><title>");
    out.append(time_text(from) + " to " + time_text(to));
    for (const Curve& curve : chart.curves) {
      double sum = 0;
      for (std::size_t i = first; i < last; ++i) {
        sum += curve.values[i] * (axis.edges[i + 1] - axis.edges[i]);
      }
      out.append("\n").append(html(curve.label)).append(": ");
      out.append(chart.text_of(to > from ? sum / (to - from) : 0));
    }
    out.append("</title></rect>");
  }
  return out;
}

}  // namespace

std::string time_text(double seconds) {
  if (seconds < 100) {
    std::string text = decimal_text(seconds, seconds < 0.1 ? 3 : seconds < 10 ? 2 : 1);
    while (text.ends_with('0')) text.pop_back();
    if (text.ends_with('.')) text.pop_back();
    return text + " s";
  }
  return clock_text(seconds);
}

std::string rate_text(double bytes_per_second) {
  if (bytes_per_second >= 1e9) return decimal_text(bytes_per_second / 1e9, 2) + " GB/s";
  if (bytes_per_second >= 1e7) return decimal_text(bytes_per_second / 1e6, 0) + " MB/s";
  return decimal_text(bytes_per_second / 1e6, bytes_per_second == 0 ? 0 : 2) + " MB/s";
}

std::string draw(const Chart& chart, const TimeAxis& axis) {
  const std::size_t count = axis.edges.size() - 1;
  double most = chart.limit;
  std::vector<double> below(count, 0);
  for (const Curve& curve : chart.curves) {
    for (std::size_t i = 0; i < count; ++i) {
      below[i] = chart.stacked ? below[i] + curve.values[i] : curve.values[i];
      most = std::max(most, below[i]);
    }
  }
  const double end = chart.end > 0 ? chart.end : round_end(most, chart.binary);

  std::string out = "<figure class=\"chart\"><figcaption><h3>" + html(chart.title) + "</h3>";
  out.append("<span class=\"keys\" aria-hidden=\"true\">");
  for (const Curve& curve : chart.curves) {
    out.append("<span class=\"key " + std::string(curve.colour) + "\">" + html(curve.label) +
               "</span>");
  }
  if (chart.limit > 0) {
    out.append("<span class=\"key dashed\">" + html(chart.limit_label) + "</span>");
  }
  out.append("</span></figcaption><div class=\"plot\"><div class=\"y\" aria-hidden=\"true\">");
  for (const double at : {end, end / 2, 0.0}) {
    out.append("<span>" + (at == 0 ? "0" : html(chart.text_of(at))) + "</span>");
  }
  out.append("</div>" + svg_begin("lines", chart.title + ". " + chart.summary));
  std::fill(below.begin(), below.end(), 0);
  std::string areas, lines;
  for (const Curve& curve : chart.curves) {
    if (count == 0) break;
    const auto top = [&](std::size_t i) { return below[i] + curve.values[i]; };
    const std::string line = points(axis, count, end, top);
    if (chart.stacked) {
      // Down to the floor: those below are drawn over it.
      areas.insert(0, "<path class=\"area " + std::string(curve.colour) + "\" d=\"M0 100L" + line +
                          "L1000 100Z\"/>");
      for (std::size_t i = 0; i < count; ++i) below[i] = top(i);
    } else {
      lines.append("<polyline class=\"line " + std::string(curve.colour) + "\" points=\"" + line +
                   "\"/>");
    }
  }
  out.append(areas).append("<path class=\"grid\" d=\"M0 0H1000M0 50H1000\"/>").append(lines);
  out.append(boundary_lines(axis));
  if (chart.limit > 0) {
    const std::string y = number(kHeight - chart.limit / end * kHeight);
    out.append("<path class=\"limit\" d=\"M0 " + y + "H1000\"/>");
  }
  out.append(tips(chart, axis, count)).append("</svg>").append(time_ticks(axis)).append("</div>");
  return out + "<p class=\"summary\">" + html(chart.summary) + "</p></figure>\n";
}

std::string draw(const std::vector<Strip>& strips, const TimeAxis& axis) {
  std::string out = "<div class=\"strips\">";
  for (const Strip& strip : strips) {
    out.append("<div class=\"strip\"><span class=\"name\">" + html(strip.label) +
               "</span><span class=\"note\">" + html(strip.note) + "</span>");
    out.append(svg_begin("band", strip.label + ": " + strip.note));
    const auto shade = [&](std::size_t i) {
      return static_cast<int>(std::lround(std::clamp(strip.values[i], 0.0, 1.0) * kShades));
    };
    for (std::size_t i = 0; i < strip.values.size();) {
      std::size_t last = i + 1;
      while (last < strip.values.size() && shade(last) == shade(i)) ++last;
      if (shade(i) > 0) {
        const double from = x_of(axis.edges[i], axis), to = x_of(axis.edges[last], axis);
        out.append("<rect class=\"" + std::string(strip.colour) + "\" x=\"" + number(from) +
                   "\" y=\"0\" width=\"" + number(to - from) + "\" height=\"100\" opacity=\"" +
                   number(static_cast<double>(shade(i)) / kShades) + "\"/>");
      }
      i = last;
    }
    out.append(boundary_lines(axis)).append("</svg></div>");
  }
  return out + time_ticks(axis) + "</div>\n";
}

}  // namespace xxl::cli
