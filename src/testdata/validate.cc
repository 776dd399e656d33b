// Compares neighbours, chunk by chunk (record_chunks.h).
#include "testdata/validate.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/file.h"
#include "io/input_checks.h"
#include "io/transfer.h"
#include "job/inputs.h"
#include "job/part_directory.h"
#include "job/record_chunks.h"
#include "record/key_layout.h"
#include "testdata/record_checksum.h"

namespace xxl {
namespace {

// `before`: records of the files before, which are in `report`.
void add(ValidateReport& report, std::uint64_t before, const Neighbours& found) {
  report.duplicate_keys += found.equal;
  report.unordered_records += found.below;
  if (found.below > 0) {
    report.first_unordered = std::min(report.first_unordered, before + found.first_unordered);
  }
}

void examine_file(const KeyLayout& layout, const io::File& file, unsigned parallel,
                  ValidateReport& report) {
  RecordChunks chunks(file, layout.record_bytes());
  const std::uint64_t before = report.records;
  std::mutex mutex;  // of the report
  chunks.scan(parallel, {}, [&](const RecordChunk& chunk) {
    const Neighbours found = compare_neighbours(layout, chunk, false);
    const Sum128 checksum = sum_record_crcs(chunk.records, chunk.count, layout.record_bytes());
    const std::lock_guard lock(mutex);
    add(report, before, found);
    report.records += chunk.count;
    report.checksum += checksum;
    return kNoRecord;  // goes on
  });
}

}  // namespace

ValidateReport validate(const RecordFormat& format, const std::string& input, unsigned parallel) {
  const KeyLayout layout(format);
  Inputs inputs = open_inputs({input}, format.record_bytes, Recognize::suffix);
  ValidateReport report;
  std::vector<std::byte> seam;  // the last record of the parts before, and the first of a part
  for (io::File& file : inputs.files) {
    file.open();
    const std::uint64_t before = report.records;
    examine_file(layout, file, parallel, report);
    if (inputs.files.size() > 1 && report.records > before) {
      const auto first = io::read_bytes(file, 0, format.record_bytes);
      seam.insert(seam.end(), first.begin(), first.end());
      const RecordChunk chunk{before, 1, seam.data() + seam.size() - format.record_bytes};
      add(report, 0, compare_neighbours(layout, chunk, false));
      seam = io::read_bytes(file, (report.records - before - 1) * format.record_bytes,
                            format.record_bytes);
    }
    if (inputs.files.size() > 1) file.close();
  }
  return report;
}

std::size_t validate_parts(const std::string& directory) {
  const auto manifest = read_manifest(directory);
  if (!manifest) {
    throw Error(ErrorCode::bad_input, "is a directory without a manifest of parts", directory);
  }
  for (const PartManifest::Part& part : manifest->parts) {
    const io::File file = io::File::open_input(path_in(directory, part.file));
    if (part_checksum(file, part.bytes) != part.checksum) {
      throw Error(ErrorCode::corrupt, "is not what the manifest of its directory says",
                  file.path());
    }
  }
  return manifest->parts.size();
}

}  // namespace xxl
