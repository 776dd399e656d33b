// Which records a general sort writes, from its options.
#pragma once

#include "job/general_sort/general_sort_options.h"
#include "merge/record_emitter.h"

namespace xxl {

inline GroupSelection group_selection(GroupRule rule, const GeneralSortOptions& options,
                                      const KeyExtractor& keys) {
  const KeyExtractor* const keys_of_groups = keys.keys_of_groups();
  return keys_of_groups != nullptr ? GroupSelection(rule, keys_of_groups, options.most_of_group)
                                   : GroupSelection(rule, options.tags);
}

// For the output of the whole sort. `keys` are what it sorts by, and must outlive the rules.
inline EmitRules emit_rules(const GeneralSortOptions& options, const KeyExtractor& keys) {
  EmitRules rules;
  rules.kept = group_selection(options.group_rule(), options, keys);
  rules.fold = options.fold;
  rules.tag_bytes = options.tags.bytes();
  rules.skip = options.skip;
  if (options.limit) rules.limit = *options.limit;
  return rules;
}

// For a run on the way there: leaves out only what no other run can make necessary.
inline EmitRules emit_rules_of_run(const GeneralSortOptions& options, const KeyExtractor& keys) {
  EmitRules rules = emit_rules(options, keys);
  rules.kept = group_selection(rule_of_run(options.group_rule()), options, keys);
  rules.skip = 0;
  rules.limit = options.needed_of_run().value_or(kNoLimit);
  if (rules.fold) rules = {};  // in the end all records of a group are needed
  rules.hash_written = false;
  return rules;
}

}  // namespace xxl
