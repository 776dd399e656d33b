// The page of a job: complete, and valid whatever is in it.
#include "tools/report/job_page.h"

#include <gtest/gtest.h>

#include <string>

#include "tools/report/chart.h"
#include "tools/report/html.h"

namespace xxl::cli {
namespace {

bool has(const std::string& page, const std::string& text) {
  return page.find(text) != page.npos;
}

// Every element that is opened is closed, in order; attributes are quoted.
void expect_nested(const std::string& page) {
  std::vector<std::string> open;
  for (std::size_t at = page.find("<body>"); (at = page.find('<', at)) != page.npos; ++at) {
    const std::size_t end = page.find('>', at);
    const std::string tag = page.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" \n/", 1));
    if (tag.ends_with('/') || name == "br") continue;
    if (!tag.starts_with('/')) {
      open.push_back(name);
      continue;
    }
    if (name == "/html") return;
    ASSERT_FALSE(open.empty()) << name;
    ASSERT_EQ("/" + open.back(), name) << page.substr(at, 100);
    open.pop_back();
  }
}

JobPage job(const TimeBuckets& buckets) {
  JobPage page;
  page.command = "xxl sort";
  page.command_line = "xxl sort <in> & \"x\" \xFF";
  page.buckets = &buckets;
  page.given.threads = page.given.processors = 2;
  return page;
}

TEST(JobPage, of_a_job_that_took_no_time) {
  const TimeBuckets buckets(1);
  const std::string page = make_page(job(buckets));
  expect_nested(page);
  EXPECT_TRUE(has(page, "It ended before its first phase."));
  EXPECT_FALSE(has(page, "nan"));
}

TEST(JobPage, of_a_job_that_failed) {
  TimeBuckets buckets(1);
  buckets.raise(series::kMemory, 1'000'000'000, 1e8);
  JobPage failed = job(buckets);
  failed.error = "in: 1 < 2 is malformed";
  failed.plan = "input:           in: 5 B\noutput:          out\n                 second line\n";
  PhaseUse phase;
  phase.name = "forming runs";
  phase.start = 1;
  phase.seconds = 1;
  phase.bound_by = "nothing alone";
  phase.helps = {"a <b>"};
  failed.phases = {phase};
  failed.phases_are_seen = true;
  const std::string page = make_page(failed);
  expect_nested(page);
  EXPECT_TRUE(has(page, "failed after 1 s"));
  EXPECT_TRUE(has(page, "in: 1 &lt; 2 is malformed"));
  EXPECT_TRUE(has(page, "<dt>output</dt><dd>out<br>second line</dd>"));
  EXPECT_TRUE(has(page, "<li>a &lt;b&gt;</li>"));
  EXPECT_TRUE(has(page, "xxl sort &lt;in&gt; &amp; &quot;x&quot; \xEF\xBF\xBD"));
  EXPECT_FALSE(has(page, "What was done"));
}

TEST(JobPage, has_a_strip_for_each_disk_and_gpu) {
  TimeBuckets buckets(1);
  constexpr std::uint64_t kEnd = 2'000'000'000;
  for (const char* what : {"busy", "read busy"}) buckets.add({"disk 8:0", what}, 1, kEnd, 1);
  buckets.add({"disk 8:0", "read"}, 1, kEnd, 1e9);
  buckets.add({"GPU 0 sort in", "busy"}, 1, kEnd, 2);
  JobPage with_disks = job(buckets);
  with_disks.places["disk 8:0"] = "sda: input";
  const std::string page = make_page(with_disks);
  expect_nested(page);
  EXPECT_TRUE(has(page, "disk 8:0 (sda: input), reading"));
  EXPECT_TRUE(has(page, "50 % of the time, 953.7 MiB"));
  EXPECT_TRUE(has(page, "GPU 0 sort in"));
  EXPECT_TRUE(has(page, "while a GPU worked"));
}

TEST(Chart, times_and_rates_have_fitting_units) {
  EXPECT_EQ(time_text(0.0123), "0.012 s");
  EXPECT_EQ(time_text(5), "5 s");
  EXPECT_EQ(time_text(59.96), "60 s");
  EXPECT_EQ(time_text(3725), "1:02:05");
  EXPECT_EQ(rate_text(1.234e9), "1.23 GB/s");
  EXPECT_EQ(rate_text(350e6), "350 MB/s");
  EXPECT_EQ(rate_text(0), "0 MB/s");
}

TEST(Html, quotes_what_would_be_markup_and_replaces_what_is_no_text) {
  EXPECT_EQ(html("a<b>&\"c\"\n"), "a&lt;b&gt;&amp;&quot;c&quot;\n");
  EXPECT_EQ(html("\x1b[31m\xC3\xA9\xC3"), "\xEF\xBF\xBD[31m\xC3\xA9\xEF\xBF\xBD");
}

}  // namespace
}  // namespace xxl::cli
