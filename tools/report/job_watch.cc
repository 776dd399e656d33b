#include "report/job_watch.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>

#include "base/error.h"
#include "base/machine_limits.h"
#include "base/quote.h"
#include "base/same_file.h"
#include "cli/version.h"
#include "io/transfer.h"
#include "report/places.h"

namespace xxl::cli {
namespace {

void refuse_same(const std::string& report, const std::string& other, const char* what) {
  if (other.empty() || other == "-" || !is_same_file(report, other)) return;
  throw Error(ErrorCode::usage, std::string("cannot be the report and ") + what, report);
}

// A file that is not a page may be named by mistake: --report has a value.
void refuse_other_file(const std::string& report) {
  std::ifstream file(report, std::ios::binary);
  std::string start(kPageStart.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (!file.is_open() || file.gcount() == 0 || start == kPageStart) return;
  throw Error(ErrorCode::usage,
              "is not a report, so it is not replaced by one: remove it, or give another name",
              report);
}

std::string local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[64];
  const std::size_t length =
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", localtime_r(&now, &parts));
  return {text, length};
}

// Of the files, 0 if one has no size that is known.
std::uint64_t bytes_of(const std::vector<std::string>& files) {
  std::uint64_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error)) return 0;
    bytes += std::filesystem::file_size(file, error);
    if (error) return 0;
  }
  return bytes;
}

std::string quoted(const std::string& argument) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  return argument.empty() || argument.find_first_not_of(kPlain) != argument.npos
             ? quote_name_always(argument)
             : argument;
}

std::string command_line(const Caller& caller) {
  std::string text = caller.stands_in ? quoted(caller.command) : "xxl";
  for (const std::string& argument : caller.arguments) text.append(" ").append(quoted(argument));
  return text;
}

}  // namespace

JobWatch::JobWatch(const Caller& caller, const ParsedOptions& options, FileJob& job,
                   JobMeans& means)
    : caller_(caller),
      options_(options),
      job_(job),
      time_line_file_(options.value("time-line", ""), job.output) {
  job.progress = &progress_;
  means.time_line = time_line_file_.time_line();
  if (!options.has("report")) return;
  path_ = options.value("report", "");
  if (options.has("explain")) {
    throw_usage(options.command(), "--explain does no work to report on: it excludes --report");
  }
  if (path_.empty() || path_ == "-" || !io::OutputFile::is_replaceable(path_)) {
    throw_usage(options.command(), "--report=" + path_ + ": give the name of a file");
  }
  refuse_same(path_, job.output, "the output");
  refuse_same(path_, options.value("time-line", ""), "the time line");
  file_.emplace(path_, false, job.scratch_dirs);
  sampler_.emplace(progress_, means.time_line);
  means.time_line = &*sampler_;
}

void JobWatch::refuse_inputs(const std::vector<std::string>& inputs) const {
  if (!file_) return;
  for (const std::string& input : inputs) refuse_same(path_, input, "an input");
  refuse_other_file(path_);
}

void JobWatch::complete(JobPage& page, const std::vector<std::string>& inputs,
                        const std::string& error, const std::vector<PhaseReport>& phases) {
  page.command =
      caller_.stands_in ? caller_.command : "xxl " + std::string(options_.command().name);
  page.command_line = command_line(caller_);
  page.program = "xxl " + std::string(kProgramVersion);
  page.ended = local_time();
  page.error = error;
  JobMeansGiven& given = page.given;
  given.memory_bytes = job_.memory_bytes;
  given.input_bytes = bytes_of(inputs);
  given.processors = available_processors();
  if (given.threads == 0) given.threads = job_.threads != 0 ? job_.threads : given.processors;
  given.machine_bytes = physical_memory_bytes();
  const bool packed = std::any_of(inputs.begin(), inputs.end(), [&](const std::string& input) {
    return job_.compressed_by_suffix && io::codec_of(input) != Codec::none;
  });
  given.sorted_bytes = packed || !options_.knows("time-line") ? 0 : given.input_bytes;
  given.scratch_compressed = job_.scratch_codec != Codec::none || options_.has("compress-program");
  given.knows_temp_compress = options_.knows("temp-compress");
  given.scratch_track = job_.scratch_dirs.empty() ? "" : track_of_path(job_.scratch_dirs.front());
  for (const std::string& input : inputs) given.file_tracks.push_back(track_of_path(input));
  if (job_.output != "-") given.file_tracks.push_back(track_of_path(job_.output));
  page.buckets = &sampler_->buckets();
  page.phases_are_seen = phases.empty();
  page.phases =
      judge_phases(phases.empty() ? sampler_->phases() : phases, sampler_->buckets(), given);
  page.sampling_seconds = sampler_->own_seconds();
  page.places = places_on_disks(inputs, job_.output, job_.scratch_dirs);
}

// The job is done or has failed: what happens here must not change that.
void JobWatch::write_page(const std::vector<std::string>& inputs, const std::string& error,
                          const std::vector<PhaseReport>& phases,
                          const std::function<JobPage()>& describe) noexcept {
  if (!file_) return;
  try {
    sampler_->stop();
    JobPage page;
    try {
      page = describe();
    } catch (const std::exception&) {  // there is no plan: that may be why the job has failed
    }
    complete(page, inputs, error, phases);
    const std::string text = make_page(page);
    io::write_at(file_->file(), 0, std::as_bytes(std::span(text)));
    file_->publish(text.size());
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%swarning: the report was not written: %s\n", caller_.prefix.c_str(),
                 escape_controls(failure.what()).c_str());
  }
  file_.reset();
}

}  // namespace xxl::cli
