// Options of a sort of lines or rows of text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "job/general_sort/record_sizes.h"
#include "job/job.h"
#include "job/result_range.h"
#include "job/row_faults.h"
#include "record/group_fold.h"
#include "record/group_selection.h"
#include "record/record_rules.h"
#include "record/record_syntax.h"
#include "record/record_tags.h"

namespace xxl {

class SharedJob;

struct GeneralSortOptions : JobOptions, ResultRange, RecordRules, RejectOptions {
  RecordSyntax syntax;
  std::vector<std::string> inputs;  // "-" is standard input
  bool unique = false;              // of records with equal keys, the first
  // Without unique: which records are kept of a group whose inputs are told apart by tags.
  GroupRule group_rule_of_inputs = GroupRule::all;
  // With unique: makes what folds the records of equal keys to one (--count, --sum); may be empty.
  MakeGroupFold fold;
  bool drops_groups = false;  // the fold keeps some of the groups only
  bool folds_to_one = false;  // all records are one group, which is there if they are none
  // keys have keys_of_groups(). Without tags.
  bool keys_have_groups = false;
  std::uint64_t most_of_group = 1;  // with unique and keys_have_groups: of records, the first ones
  // If there are any, the order has to do with where records stand in the input (record_tags.h).
  // Without fold; with merge_only only those that tell inputs apart.
  RecordTags tags;
  bool writes_tags = false;                 // to the output, as a part of the records
  std::optional<RecordSyntax> output_as{};  // the output's syntax, if it is not that of the inputs
  // Gets the header of the inputs, if there is one, and returns that of the output. Called before
  // the first record is written. Empty: they are the same.
  std::function<std::optional<std::string>(std::optional<std::string> header)> header_of_output;
  std::uint64_t most_input_bytes = 0;     // of inputs whose size is not known: no more come; or 0
  std::optional<StoredRecords> stored{};  // of such inputs, or of those that are shared: what comes
  // Throws if these are not the records that were to be read; called before the output appears.
  std::function<void(const MultisetHash& records)> check_input;
  bool keeps_malformed = false;  // of rows: the output may have malformed ones
  bool merge_only = false;       // -m
  bool repeatable = false;       // the output may be written again (CallerSort)
  bool check_merged = true;      // -m of an input that is not in order is an error
  std::string compress_program;  // --compress-program: filters scratch blocks; empty: none
  // Called once, from any thread, if that cannot be run: the sort goes on without it. Empty: that
  // is an error.
  std::function<void(const Error&)> on_no_compress_program;
  std::optional<std::size_t> spare_table_bytes;  // of GeneralPlanInput; for tests

  SharedJob* shared = nullptr;  // this is one of several sorts, without tags

  const RecordSyntax& output_syntax() const { return output_as ? *output_as : syntax; }
  // What is kept of records with equal keys, and whether that is not all of them.
  GroupRule group_rule() const { return unique ? GroupRule::first : group_rule_of_inputs; }
  bool has_groups() const { return group_rule() != GroupRule::all; }
  // Records from the start of a run that matter, if it is known that not all do: each is one of the
  // result, or the first of a group that is.
  std::optional<std::uint64_t> needed_of_run() const {
    const bool is_known =
        group_rule_of_inputs == GroupRule::all && !drops_groups && !keys_have_groups;
    return is_known ? needed() : std::nullopt;
  }
  // What is put in front of each record that is read; of what is in front then, what is not
  // written.
  std::size_t put_tag_bytes() const { return tags.are_made() ? tags.bytes() : 0; }
  std::size_t dropped_bytes() const { return writes_tags ? 0 : tags.bytes(); }
  // By how much a record grows in memory, if it gets a tag: it loses its frame.
  std::optional<std::size_t> tag_growth() const {
    if (!tags.are_made()) return std::nullopt;
    return tags.bytes() - std::min(tags.bytes(), syntax.frame_bytes());
  }
};

}  // namespace xxl
