#include "report/job_page.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/page_style.h"
#include "report/report_text.h"

namespace xxl::cli {
namespace {

using Values = std::vector<double>;

std::string bytes_text(double bytes) {
  return format_bytes(static_cast<std::uint64_t>(std::max(bytes, 0.0)));
}

const char* colour_of(Bound bound) {
  switch (bound) {
    case Bound::processors:
      return "blue";
    case Bound::disk_read:
      return "green";
    case Bound::disk_write:
      return "orange";
    case Bound::gpu:
      return "violet";
    case Bound::pipe_in:
    case Bound::pipe_out:
      return "teal";
    case Bound::one_thread:
    case Bound::nothing:
      break;
  }
  return "grey";
}

double sum(const Values& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

double largest(const Values& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

// Lines "name:    value" as --explain and --stats print them, until an empty one, as a list. A line
// without a name belongs to the one before.
std::string facts_list(std::string_view text) {
  constexpr std::size_t kNameWidth = 17;
  std::string out = "<dl class=\"card\">";
  bool open = false;
  while (!text.empty() && text.front() != '\n') {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::string_view name = line.substr(0, kNameWidth);
    name = name.substr(0, name.find(':'));
    const std::string value = html(line.substr(std::min(line.size(), kNameWidth)));
    if (name.find_first_not_of(' ') == name.npos) {
      out.append("<br>" + value);
      continue;
    }
    if (open) out.append("</dd>");
    out.append("<dt>" + html(name) + "</dt><dd>" + value);
    open = true;
  }
  return out + (open ? "</dd></dl>\n" : "</dl>\n");
}

class Page {
 public:
  explicit Page(const JobPage& page) : page_(page), buckets_(*page.buckets) {
    seconds_ = static_cast<double>(buckets_.end() - buckets_.start()) * 1e-9;
    axis_.seconds = seconds_;
    for (std::size_t i = 0; i <= buckets_.count(); ++i) {
      axis_.edges.push_back(std::min(static_cast<double>(i * buckets_.width()) * 1e-9, seconds_));
    }
    for (const PhaseUse& phase : page_.phases) {
      const double start = since_start(phase.start);
      for (const double at : {start, start + phase.seconds}) {
        if (at > 0.002 * seconds_ && at < 0.998 * seconds_) axis_.boundaries.push_back(at);
      }
    }
    for (const auto& [track, what] : buckets_.names()) {
      if (what == series::kBusy) tracks_.push_back(track);
    }
    threads_ = std::max(1U, std::min(page_.given.threads, page_.given.processors));
    processors_ = std::max(threads_, page_.given.processors);
  }

  std::string text() const {
    return head() + "<main>" + tiles() + where_time_went() + who_worked() + over_time() + papers() +
           "</main>\n" + foot() + "</body></html>\n";
  }

 private:
  double since_start(std::uint64_t at) const {
    return at > buckets_.start() ? static_cast<double>(at - buckets_.start()) * 1e-9 : 0;
  }
  // Of a track, with what is known of the disk.
  std::string name_of_track(const std::string& track) const {
    const auto found = page_.places.find(track);
    return found == page_.places.end() ? track : track + " (" + found->second + ")";
  }
  Values per_second(const TimeBuckets::Name& name) const {
    Values values = buckets_.amounts(name);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double seconds = buckets_.seconds(i);
      values[i] = seconds > 0 ? values[i] / seconds : 0;
    }
    return values;
  }
  // Of all tracks and of files.
  Values total_per_second(const char* what) const {
    Values total = per_second({"files", what});
    for (const std::string& track : tracks_) {
      const Values values = per_second({track, what});
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += values[i];
    }
    return total;
  }
  // The part of the time in which the busiest of these tracks did `what`.
  template <class Wanted>
  Values busiest(const std::string& what, Wanted wanted) const {
    Values most(buckets_.count(), 0);
    for (const std::string& track : tracks_) {
      if (!wanted(track)) continue;
      const Values values = per_second({track, what});
      for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], values[i]);
    }
    return most;
  }
  Values cores() const {
    Values cores = per_second(series::kUser);
    const Values system = per_second(series::kSystem);
    for (std::size_t i = 0; i < cores.size(); ++i) cores[i] += system[i];
    return cores;
  }
  double average(const Values& per_second) const {
    double amount = 0;
    for (std::size_t i = 0; i < per_second.size(); ++i) {
      amount += per_second[i] * buckets_.seconds(i);
    }
    return seconds_ > 0 ? amount / seconds_ : 0;
  }
  std::string time_of_peak(const Values& values) const {
    const auto at = std::max_element(values.begin(), values.end()) - values.begin();
    return values.empty() ? "0 s" : time_text(axis_.edges[static_cast<std::size_t>(at)]);
  }

  std::string head() const {
    const bool failed = !page_.error.empty();
    const std::string state = (failed ? "failed after " : "done in ") + time_text(seconds_);
    std::string out = std::string(kPageStart) +
                      "\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                      "style-src 'unsafe-inline'; img-src data:\">"
                      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
                      "<meta name=\"generator\" content=\"" +
                      html(page_.program) +
                      "\">"
                      "<link rel=\"icon\" href=\"data:,\"><title>" +
                      html(page_.command + ": " + state) + "</title>\n<style>";
    out.append(kPageStyle).append("</style></head>\n<body><header><h1>");
    out.append(html(page_.command) + "<span class=\"pill" + (failed ? " failed" : "") + "\">" +
               html(state) + "</span></h1>");
    out.append("<p class=\"soft\">" + html(page_.ended) + "</p><pre>" + html(page_.command_line) +
               "</pre>");
    if (failed) {
      out.append("<p class=\"error\" role=\"alert\"><strong>Error:</strong> " + html(page_.error) +
                 "</p>");
    }
    return out + "</header>\n";
  }

  static std::string tile(const std::string& value, const std::string& what) {
    return "<div class=\"tile\"><b>" + html(value) + "</b><span>" + html(what) + "</span></div>";
  }

  std::string tiles() const {
    const JobMeansGiven& given = page_.given;
    const double read = average(total_per_second("read")) * seconds_;
    const double written = average(total_per_second("write")) * seconds_;
    std::string out = "<div class=\"tiles\">" + tile(time_text(seconds_), "from start to end");
    if (given.input_bytes > 0) {
      const auto bytes = static_cast<double>(given.input_bytes);
      out.append(tile(bytes_text(bytes), page_.error.empty() && seconds_ > 0
                                             ? "of input: " + rate_text(bytes / seconds_)
                                             : "of input"));
    }
    out.append(tile(bytes_text(read), "read, files and scratch"));
    out.append(tile(bytes_text(written), "written, files and scratch"));
    out.append(tile(decimal_text(average(cores()), 2) + " of " + std::to_string(threads_),
                    "processors busy on average"));
    out.append(tile(bytes_text(largest(buckets_.levels(series::kMemory))),
                    "of memory at most, of " +
                        format_bytes(given.memory_bytes + kMemoryConstantBytes) + " allowed"));
    out.append(tile(bytes_text(largest(buckets_.levels(series::kScratch))),
                    "of scratch at most, at one time"));
    return out + "</div>\n";
  }

  static std::string meter(const std::string& name, double part, const std::string& value,
                           const char* colour) {
    return "<span>" + html(name) + "</span><span class=\"track\" aria-hidden=\"true\"><i class=\"" +
           colour + "\" style=\"width:" + decimal_text(100 * std::clamp(part, 0.0, 1.0), 1) +
           "%\"></i></span><span class=\"value\">" + html(value) + "</span>";
  }

  std::string meters(const PhaseUse& phase) const {
    std::string out = "<div class=\"meters\">";
    out.append(meter("processors", phase.cores / threads_,
                     decimal_text(phase.cores, 2) + " of " + std::to_string(threads_), "blue"));
    for (const TrackUse& track : phase.tracks) {
      if (track.reading > 0) {
        out.append(
            meter(track.track + " reading", track.reading, percent_text(track.reading), "green"));
      }
      if (track.writing > 0) {
        out.append(
            meter(track.track + " writing", track.writing, percent_text(track.writing), "orange"));
      }
      if (track.reading == 0 && track.writing == 0) {
        out.append(meter(track.track, track.busy, percent_text(track.busy), "violet"));
      }
    }
    const auto wait = [&](const char* name, double seconds) {
      if (seconds <= 0) return;
      out.append(meter(name, seconds / phase.seconds, time_text(seconds), "grey"));
    };
    wait("waits for reads", phase.read_wait);
    wait("waits for writes", phase.write_wait);
    return out + "</div>";
  }

  std::string where_time_went() const {
    std::string out = "<h2>Where the time went</h2>\n";
    if (page_.phases.empty()) {
      return out + "<p class=\"soft\">It ended before its first phase.</p>\n";
    }
    std::string bar = "<div class=\"bar\" aria-hidden=\"true\">";
    std::string list = "<ol class=\"phases\">";
    double at = 0;
    double between = 0;
    const auto add_gap = [&](double until) {
      if (until - at > 0.002 * seconds_) {
        between += until - at;
        bar.append("<span class=\"gap\" style=\"flex:" + decimal_text(until - at, 4) +
                   "\"></span>");
      }
    };
    for (const PhaseUse& phase : page_.phases) {
      add_gap(since_start(phase.start));
      at = since_start(phase.start) + phase.seconds;
      const char* const colour = colour_of(phase.bound);
      bar.append("<span class=\"" + std::string(colour) +
                 "\" style=\"flex:" + decimal_text(std::max(phase.seconds, 1e-4), 4) +
                 "\" title=\"" + html(phase.name + ": " + time_text(phase.seconds)) + "\">" +
                 html(phase.name) + "</span>");
      list.append("<li class=\"phase\"><h3><span class=\"mark " + std::string(colour) +
                  "\"></span>" + html(phase.name) + "<span class=\"time\">" +
                  html(time_text(phase.seconds)) + " · " +
                  percent_text(seconds_ > 0 ? phase.seconds / seconds_ : 0) + "</span></h3>");
      list.append("<p class=\"bound\"><strong>" +
                  std::string(phase.bound == Bound::nothing ? "" : "Bound by ") +
                  html(phase.bound_by) + ".</strong></p>");
      list.append(meters(phase));
      list.append("<p class=\"soft\">" + html(moved_text(phase)) + "</p>");
      if (!phase.helps.empty()) {
        list.append("<ul class=\"help\" aria-label=\"What would help\">");
        for (const std::string& help : phase.helps) list.append("<li>" + html(help) + "</li>");
        list.append("</ul>");
      }
      list.append("</li>");
    }
    add_gap(seconds_);
    out.append(bar).append("</div>").append(list).append("</ol>\n");
    if (between > 0) {
      out.append("<p class=\"summary\">" + html(time_text(between)) +
                 " are of no phase: planning, opening and closing files, giving back scratch and "
                 "memory.</p>\n");
    }
    if (page_.phases_are_seen) {
      out.append(
          "<p class=\"summary\">The job did not come to report its phases: these are as "
          "they were seen from outside.</p>\n");
    }
    return out;
  }

  static std::string moved_text(const PhaseUse& phase) {
    const auto moved = [&](double bytes, const char* what) {
      return bytes_text(bytes) + what +
             (phase.seconds > 0 && bytes > 0 ? " (" + rate_text(bytes / phase.seconds) + ")" : "");
    };
    return moved(phase.read_bytes, " read") + ", " + moved(phase.written_bytes, " written");
  }

  std::string who_worked() const {
    std::vector<Strip> strips;
    Values cores = this->cores();
    for (double& value : cores) value /= threads_;
    strips.push_back({"Processors", percent_text(average(cores)) + " busy", "blue", cores});
    for (const std::string& track : tracks_) {
      bool has_way = false;
      for (const auto& [what, name, colour] :
           {std::tuple{"read", ", reading", "green"}, std::tuple{"write", ", writing", "orange"}}) {
        const TimeBuckets::Name busy{track, std::string(what) + " busy"};
        if (!buckets_.has(busy)) continue;
        has_way = true;
        const Values values = per_second(busy);
        strips.push_back({name_of_track(track) + name,
                          percent_text(average(values)) + " of the time, " +
                              bytes_text(sum(buckets_.amounts({track, what}))),
                          colour, values});
      }
      if (has_way) continue;
      const Values values = per_second({track, series::kBusy});
      strips.push_back({track, percent_text(average(values)) + " busy", "violet", values});
    }
    return "<h2>Who worked when</h2>\n<div class=\"card\">" + draw(strips, axis_) +
           "<p class=\"summary\">The darker, the busier. A disk is busy while it has something to "
           "do, be it in the page cache; dotted lines are where phases begin and end.</p></div>\n";
  }

  std::string rates() const {
    const Values read = total_per_second("read"), written = total_per_second("write");
    const Values sorted = per_second(series::kSorted);
    const auto words = [&](const char* what, const Values& values) {
      return std::string(what) + " " + rate_text(average(values)) + " on average, " +
             rate_text(largest(values)) + " at most (at " + time_of_peak(values) + ")";
    };
    return draw({.title = "Rates",
                 .summary = words("Read", read) + ". " + words("Written", written) + ". " +
                            words("Records sorted, merged or joined:", sorted) + ".",
                 .text_of = rate_text,
                 .curves = {{"read", "green", read},
                            {"written", "orange", written},
                            {"records sorted, merged or joined", "blue", sorted}}},
                axis_);
  }

  std::string processors() const {
    const Values user = per_second(series::kUser), system = per_second(series::kSystem);
    const Values others = per_second(series::kOthers);
    return draw({.title = "Processors",
                 .summary = decimal_text(average(cores()), 2) + " of " + std::to_string(threads_) +
                            " busy on average, " + decimal_text(average(system), 2) +
                            " of these in the kernel (copies to and from the page cache, "
                            "transfers); " +
                            decimal_text(average(others), 2) + " with other programs.",
                 .text_of = [](double value) { return decimal_text(value, value < 10 ? 1 : 0); },
                 .curves = {{"the program", "blue", user},
                            {"the kernel for it", "teal", system},
                            {"other programs", "grey", others}},
                 .stacked = true,
                 .end = processors_,
                 .limit = static_cast<double>(threads_),
                 .limit_label = "threads that work"},
                axis_);
  }

  // Processors that had nothing to do, by what was under way meanwhile.
  std::string idleness() const {
    const auto is_disk = [](const std::string& track) { return !track.starts_with("GPU"); };
    const auto is_gpu = [](const std::string& track) { return track.starts_with("GPU"); };
    const Values cores = this->cores(), others = per_second(series::kOthers);
    const Values busy = busiest(series::kBusy, is_disk), gpu = busiest(series::kBusy, is_gpu);
    const Values reading = busiest("read busy", is_disk), writing = busiest("write busy", is_disk);
    Values reads(cores.size()), writes(cores.size()), gpus(cores.size()), rest(cores.size());
    for (std::size_t i = 0; i < cores.size(); ++i) {
      const double idle = std::max(0.0, threads_ - cores[i] - others[i]);
      const double both = reading[i] + writing[i];
      const double disk = std::min(busy[i], 1.0);
      reads[i] = both > 0 ? idle * disk * reading[i] / both : 0;
      writes[i] = both > 0 ? idle * disk * writing[i] / both : 0;
      gpus[i] = idle * std::min(gpu[i], 1 - disk);
      rest[i] = std::max(0.0, idle - reads[i] - writes[i] - gpus[i]);
    }
    const bool files = buckets_.has({"files", "read"}) || buckets_.has({"files", "write"});
    const std::string otherwise =
        files ? "for other reasons (reading and writing of the files is not seen)"
              : "with nothing under way (turns, starts and ends)";
    std::vector<Curve> curves{{"while a disk or pipe was read", "green", reads},
                              {"while one was written", "orange", writes}};
    if (sum(gpus) > 0) curves.push_back({"while a GPU worked", "violet", gpus});
    curves.push_back({files ? "otherwise" : "with nothing under way", "grey", rest});
    const auto seconds = [&](const Values& values) {
      return time_text(average(values) * seconds_);
    };
    return draw({.title = "Idle processors",
                 .summary = "Seconds of processors that had nothing to do: " + seconds(reads) +
                            " while a disk or pipe was read, " + seconds(writes) +
                            " while one was written, " +
                            (sum(gpus) > 0 ? seconds(gpus) + " while a GPU worked, " : "") +
                            seconds(rest) + " " + otherwise + ".",
                 .text_of = [](double value) { return decimal_text(value, value < 10 ? 1 : 0); },
                 .curves = std::move(curves),
                 .stacked = true,
                 .end = static_cast<double>(threads_)},
                axis_);
  }

  std::string waits() const {
    Values reads = per_second(series::kReadWait), writes = per_second(series::kWriteWait);
    const double read_seconds = average(reads) * seconds_;
    const double write_seconds = average(writes) * seconds_;
    for (std::size_t i = 0; i < reads.size(); ++i) {  // when a wait began is known about
      reads[i] = std::min(reads[i], 1.0);
      writes[i] = std::min(writes[i], 1 - reads[i]);
    }
    if (read_seconds + write_seconds == 0) {
      return "<p class=\"summary\">No waits were counted. (Those of threads that sort text, or "
             "read "
             "and write columns, are not: they are among what is idle above.)</p>\n";
    }
    return draw({.title = "Waits",
                 .summary = "For " + time_text(read_seconds) +
                            " nothing could be done but wait for a read, for " +
                            time_text(write_seconds) + " but wait for a write to free a buffer.",
                 .text_of = percent_text,
                 .curves = {{"for reads", "green", reads}, {"for writes", "orange", writes}},
                 .stacked = true,
                 .end = 1},
                axis_);
  }

  std::string memory() const {
    const Values resident = buckets_.levels(series::kMemory);
    const auto allowed = static_cast<double>(page_.given.memory_bytes + kMemoryConstantBytes);
    return draw(
        {.title = "Memory",
         .summary = bytes_text(largest(resident)) + " at most, of " + bytes_text(allowed) +
                    " allowed (-S and " + format_bytes(kMemoryConstantBytes) + " for the program).",
         .text_of = bytes_text,
         .curves = {{"resident", "violet", resident}},
         .stacked = true,
         .binary = true,
         // Far above what was taken, the line would flatten the curve.
         .limit = allowed < 4 * largest(resident) ? allowed : 0,
         .limit_label = "allowed"},
        axis_);
  }

  std::string scratch() const {
    const Values used = buckets_.levels(series::kScratch);
    if (largest(used) == 0) {
      return "<p class=\"summary\">Nothing went to scratch.</p>\n";
    }
    return draw(
        {.title = "Scratch",
         .summary = bytes_text(largest(used)) + " in use at most, at " + time_of_peak(used) + ".",
         .text_of = bytes_text,
         .curves = {{"in use", "teal", used}},
         .stacked = true,
         .binary = true},
        axis_);
  }

  std::string over_time() const {
    return "<h2>Over time</h2>\n" + rates() + processors() + idleness() + waits() + memory() +
           scratch();
  }

  std::string papers() const {
    std::string out = "<h2>The plan</h2>\n";
    out.append(page_.plan.empty()
                   ? "<p class=\"soft\">None: the job failed before there was one.</p>\n"
                   : facts_list(page_.plan));
    if (!page_.facts.empty()) out.append("<h2>What was done</h2>\n" + facts_list(page_.facts));
    return out;
  }

  std::string foot() const {
    const JobMeansGiven& given = page_.given;
    return "<footer>" + html(page_.program) + ", " + format_count(given.processors, "processor") +
           " and " + format_bytes(given.machine_bytes) + " of memory. Times are in buckets of " +
           time_text(static_cast<double>(buckets_.width()) * 1e-9) + "; watching took " +
           decimal_text(seconds_ > 0 ? 100 * page_.sampling_seconds / seconds_ : 0, 2) +
           " % of a processor. Processors are those of this program alone.</footer>";
  }

  const JobPage& page_;
  const TimeBuckets& buckets_;
  double seconds_;
  TimeAxis axis_;
  std::vector<std::string> tracks_;
  unsigned threads_;
  double processors_;
};

}  // namespace

std::string make_page(const JobPage& page) {
  return Page(page).text();
}

}  // namespace xxl::cli
