// The rows that --sum and the other folds make of rows with equal keys, for numbers of contents.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job.h"

namespace xxl::campaign {

// A field as rows of this separator write it, in quotes if need be.
std::string written_field(const std::string& value, char separator);

class RowFolds {
 public:
  // `keys`: columns of the key. Nothing if there is a fold that is not known here, or is refused.
  static std::optional<RowFolds> of(const Job& job, const std::vector<std::size_t>& keys);

  bool any() const { return count_ || !folds_.empty(); }
  std::string header(std::string_view row) const;
  // One row of these, which are in the order of the input.
  std::string folded(const std::vector<std::string_view>& rows) const;

 private:
  struct Fold {
    std::string kind;
    std::size_t column = 0;
    std::string type;
    std::string name;  // of a new column; empty: it takes the place of the field
  };

  static std::optional<Fold> parse(const Job& job, const std::string& kind,
                                   const std::string& value);
  std::optional<std::string> field(const Fold& fold, const std::vector<std::string>& fields) const;
  std::string with_new_fields(std::vector<std::string> fields, const std::vector<std::string>& more,
                              std::string_view row) const;

  char separator_ = ',';
  bool count_ = false;
  std::vector<Fold> folds_;
};

}  // namespace xxl::campaign
