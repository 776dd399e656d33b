// Emits consecutive records of text, in the order of their keys.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "merge/record_emitter.h"
#include "record/key_extractor.h"
#include "record/text_records.h"

namespace xxl {

// Where sorted text goes. One thread at a time.
class GeneralTarget {
 public:
  virtual ~GeneralTarget() = default;
  // Takes whole records, each with its terminator. False when no more are needed.
  virtual bool add(std::string_view text) = 0;
  // After the last: totals of the records.
  virtual const GeneralTotals& finish() = 0;
};

// `Writer`: as of RecordEmitter, with finish().
template <class Writer>
class GeneralEmission final : public GeneralTarget {
 public:
  // Arguments of writers are forwarded to them. `keys` and `syntax` must outlive it.
  template <class... Args>
  GeneralEmission(const KeyExtractor& keys, const RecordSyntax& syntax, const EmitRules& rules,
                  Args&&... writer)
      : keys_(keys),
        syntax_(syntax),
        has_groups_(rules.kept.has_groups()),
        writer_(std::forward<Args>(writer)...),
        emitter_(writer_, rules) {}

  bool add(std::string_view text) override {
    if (!wants_more_) return false;
    visit_records(text, syntax_, [this](std::string_view record) {
      wants_more_ = emitter_.add(record, has_groups_ && is_same_key(record));
      return wants_more_;
    });
    return wants_more_;
  }
  const GeneralTotals& finish() override {
    const GeneralTotals& totals = emitter_.finish();
    writer_.finish();
    return totals;
  }

 private:
  bool is_same_key(std::string_view record) {
    const std::string_view key = key_of(keys_, record, KeyExtractor::kWholeKey, made_);
    if (any_ && key == last_key_) return true;
    any_ = true;
    last_key_ = key;
    return false;
  }

  const KeyExtractor& keys_;
  const RecordSyntax& syntax_;
  const bool has_groups_;
  bool wants_more_ = true;
  bool any_ = false;      // records so far
  std::string last_key_;  // of them
  std::string made_;
  Writer writer_;
  RecordEmitter<Writer> emitter_;
};

}  // namespace xxl
