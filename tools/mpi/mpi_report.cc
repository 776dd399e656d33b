#include "mpi/mpi_report.h"

#include <sys/resource.h>

#include <algorithm>
#include <vector>

#include "base/units.h"
#include "cluster/message.h"
#include "report/json.h"
#include "report/report_text.h"

namespace xxl::cli {
namespace {

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct RankNumbers {
  std::uint64_t records, runs, merged_runs, bytes_received, scratch_bytes, peak_memory_bytes;
  double seconds, processor_seconds;
};

struct RankReport : RankNumbers {
  std::string device;
  std::vector<PhaseReport> phases;
};

Message own_message(const ClusterReport& report) {
  MessageWriter writer;
  writer.put(RankNumbers{report.records, report.runs, report.merged_runs, report.bytes_received,
                         report.scratch_bytes, report.peak_memory_bytes, report.seconds,
                         processor_seconds()});
  writer.put_text(report.device);
  for (const PhaseReport& phase : report.phases) {
    writer.put_text(phase.name);
    writer.put(phase.seconds);
    writer.put(phase.bytes_read);
    writer.put(phase.bytes_written);
    writer.put(phase.read_wait_seconds);
    writer.put(phase.write_wait_seconds);
    writer.put(phase.worker_busy_seconds);
  }
  return writer.take();
}

RankReport read_report(const Message& message) {
  MessageReader reader(message);
  RankReport report{reader.get<RankNumbers>(), reader.get_text(), {}};
  while (!reader.at_end()) {
    PhaseReport& phase = report.phases.emplace_back();
    phase.name = reader.get_text();
    phase.seconds = reader.get<double>();
    phase.bytes_read = reader.get<std::uint64_t>();
    phase.bytes_written = reader.get<std::uint64_t>();
    phase.read_wait_seconds = reader.get<double>();
    phase.write_wait_seconds = reader.get<double>();
    phase.worker_busy_seconds = reader.get<double>();
  }
  return report;
}

std::string stats_json(const std::string& record, const FileJob& options,
                       const ClusterReport& report, const std::vector<RankReport>& ranks) {
  Json json;
  json.begin_object();
  json.member("record", record)
      .member("records", report.all_records)
      .member("checksum", hash_text(report.checksum))
      .member("memory_bytes", options.memory_bytes)
      .member("threads", options.threads);
  json.begin_array("ranks");
  for (const RankReport& rank : ranks) {
    json.begin_object();
    json.member("records", rank.records)
        .member("device", rank.device)
        .member("runs", rank.runs)
        .member("merged_runs", rank.merged_runs)
        .member("bytes_received", rank.bytes_received)
        .member("scratch_bytes", rank.scratch_bytes)
        .member("seconds", rank.seconds)
        .member("processor_seconds", rank.processor_seconds)
        .member("peak_memory_bytes", rank.peak_memory_bytes);
    append_phases(json, rank.phases);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text() + "\n";
}

std::string stats_table(const std::string& record, const ClusterReport& report,
                        const std::vector<RankReport>& ranks) {
  std::string out;
  append_fact(out, "record", record);
  append_fact(out, "records", std::to_string(report.all_records));
  append_fact(out, "checksum", hash_text(report.checksum));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const RankReport& rank = ranks[i];
    append_fact(out, ("rank " + std::to_string(i)).c_str(),
                format_count(rank.records, "record") + ", " + format_count(rank.runs, "run") +
                    " formed on " + rank.device + ", " + std::to_string(rank.merged_runs) +
                    " merged, " + format_bytes(rank.bytes_received) + " received, " +
                    format_bytes(rank.scratch_bytes) + " of scratch, " +
                    decimal_text(rank.seconds) + " s, " + decimal_text(rank.processor_seconds) +
                    " s of processors");
  }
  append_phases(out, ranks.front().phases);
  return out;
}

}  // namespace

std::string cluster_stats(const std::string& format, const std::string& record,
                          const FileJob& options, const ClusterReport& report, Peers& peers) {
  std::vector<RankReport> ranks;
  for (const Message& message : tell_all(peers, own_message(report))) {
    ranks.push_back(read_report(message));
  }
  if (peers.rank() != 0) return "";
  return format == "json" ? stats_json(record, options, report, ranks)
                          : stats_table(record, report, ranks);
}

}  // namespace xxl::cli
