// Sorts of records of any length, for sorters.
#include <memory>
#include <type_traits>

#include "base/error.h"
#include "callers/sorter_job.h"
#include "job/general_sort/general_sort.h"
#include "job/inputs.h"
#include "record/caller_keys.h"
#include "xxl/sorter_core.h"

namespace xxl::detail {
namespace {

static_assert(std::is_same_v<SorterBytes::RecordCount, RecordCount>);

class GeneralEngine final : public AnyLengthEngine {
 public:
  std::unique_ptr<CallerSort> make(const SorterJob& job, SharedJob* shared) const override {
    if (job.spec.options.expected_records != 0) {
      throw Error(ErrorCode::usage,
                  "sorter_options::expected_records is for records of a fixed size");
    }
    auto options = job.options<GeneralSortOptions>();
    options.syntax.counted = true;
    options.shared = shared;
    if (job.spec.length == RecordLength::any) {
      options.keys = std::make_shared<RecordAsKey>(job.spec.descending);
    } else {
      options.keys = std::make_shared<LeadingKey>();
    }
    return make_general_caller_sort(options, input_of_caller(job.input));
  }
};

}  // namespace

const AnyLengthEngine& any_length_engine() {
  static const GeneralEngine engine;
  return engine;
}

}  // namespace xxl::detail
