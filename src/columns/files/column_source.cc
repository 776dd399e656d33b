#include "columns/files/column_source.h"

#include <cstddef>

#include "columns/files/load_module.h"

namespace xxl {

using module_table::Failure;

ColumnSource::ColumnSource(module_table::Format format, const std::vector<std::string>& paths,
                           unsigned threads) {
  std::vector<const char*> names;
  for (const std::string& path : paths) names.push_back(path.c_str());
  const module_table::SourceOptions options{format, names.data(), names.size(), threads};
  Failure failure{};
  if (!load_arrow_module().open_source(&options, &source_, &failure)) throw_failure(failure);
  try {
    read_names();
  } catch (...) {
    source_.release(&source_);
    throw;
  }
}

ColumnSource::~ColumnSource() {
  source_.release(&source_);
}

void ColumnSource::read_names() {
  ArrowSchema schema{};
  Failure failure{};
  if (!source_.get_schema(&source_, &schema, &failure)) throw_failure(failure);
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    const char* const name = schema.children[static_cast<std::size_t>(i)]->name;
    column_names_.emplace_back(name != nullptr ? name : "");
  }
  schema.release(&schema);
}

void ColumnSource::leave_out(const module_table::FirstRows& first) {
  Failure failure{};
  if (!source_.leave_out(&source_, &first, &failure)) throw_failure(failure);
}

void ColumnSource::take_share(const module_table::Share& share) {
  Failure failure{};
  if (!source_.take_share(&source_, &share, &failure)) throw_failure(failure);
}

void ColumnSource::start(const module_table::BatchSizes& sizes, ArrowArrayStream* out) {
  Failure failure{};
  if (!source_.start(&source_, &sizes, out, &failure)) throw_failure(failure);
}

void ColumnSource::rethrow() {
  const Failure* const failure = source_.stream_failure(&source_);
  if (failure != nullptr) throw_failure(*failure);
}

std::uint64_t ColumnSource::largest_batch() {
  return source_.largest_batch(&source_);
}

module_table::SourceFacts ColumnSource::facts() const {
  module_table::SourceFacts facts{};
  source_.get_facts(&source_, &facts);
  return facts;
}

}  // namespace xxl
