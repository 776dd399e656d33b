// What is known of the records of an input, beside how they lie in it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/key_extractor.h"

namespace xxl {

// What is wrong with a record, and what becomes of it.
struct RecordFault {
  enum class Fate {
    error,  // it ends the job
    skip,   // it is left out
    keep,   // it stays, and is counted
  };
  RecordFault(std::string text, Fate becomes = Fate::error)
      : what(std::move(text)), fate(becomes) {}

  std::string what;
  Fate fate;
};

struct RecordRules {
  std::shared_ptr<const KeyExtractor> keys;  // null until a header says which
  // With a header: gets that of the first file and returns the keys. May throw Error. If set, the
  // header of every file is checked to be the same.
  std::function<std::shared_ptr<const KeyExtractor>(std::string_view header)> keys_of_header;
  // Gets the first record of each file before any other; may be empty.
  std::function<void(std::string_view record)> first_record;
  // Says what is wrong with a record, or nothing; may be empty. From many threads.
  std::function<std::optional<RecordFault>(std::string_view record)> malformed;
  // Names members that were not in any record given to malformed(); may be empty. Called once all
  // records have been read.
  std::function<std::vector<std::string>()> missing_members;
};

}  // namespace xxl
