// Which records a general sort writes, from its options.
#pragma once

#include "job/general_sort/general_sort_options.h"
#include "merge/record_emitter.h"

namespace xxl {

// For the output of the whole sort.
inline EmitRules emit_rules(const GeneralSortOptions& options) {
  EmitRules rules;
  rules.kept = GroupSelection(options.group_rule(), options.tags);
  rules.fold = options.fold;
  rules.tag_bytes = options.tags.bytes();
  rules.skip = options.skip;
  if (options.limit) rules.limit = *options.limit;
  return rules;
}

// For a run on the way there: leaves out only what no other run can make necessary.
inline EmitRules emit_rules_of_run(const GeneralSortOptions& options) {
  EmitRules rules = emit_rules(options);
  rules.kept = GroupSelection(rule_of_run(options.group_rule()), options.tags);
  rules.skip = 0;
  rules.limit = options.needed_of_run().value_or(kNoLimit);
  if (rules.fold) rules = {};  // in the end all records of a group are needed
  rules.hash_written = false;
  return rules;
}

}  // namespace xxl
