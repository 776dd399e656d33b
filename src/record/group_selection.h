// Which records of a group of equal keys a sort keeps: all, the first ones (--unique, --per), or
// those that an operation on sets of records leaves (docs/internals/set.md).
//
// Records of a group come in the order of the inputs, those of the one that sets are compared with
// last: then what matters of the others is known, and a record is kept or not as it comes, however
// many there are.
//
//     tags             0 0 1 | 2 2 2 2        2 is the last input, which others are compared with
//     intersect                k              all inputs have the key
//     intersect_all            k              as many as the input has that has the fewest: 1
//     except                                  others have the key
//     except_all                     k        but as many as others have: 3
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "record/key_extractor.h"
#include "record/record_tags.h"

namespace xxl {

enum class GroupRule : std::uint8_t {
  all,
  first,
  // With tags that tell inputs apart:
  first_of_each_input,
  intersect,
  intersect_all,
  except,
  except_all,
};

// What leaves early of records to which `rule` will be applied: what cannot matter, whatever other
// records come before and behind. Associative: may be applied to what is left, too.
constexpr GroupRule rule_of_run(GroupRule rule) {
  switch (rule) {
    case GroupRule::first:
    case GroupRule::except:  // the first one tells whether another input has the key
      return GroupRule::first;
    case GroupRule::first_of_each_input:
    case GroupRule::intersect:
      return GroupRule::first_of_each_input;
    case GroupRule::all:
    case GroupRule::intersect_all:
    case GroupRule::except_all:
      break;
  }
  return GroupRule::all;
}

class GroupSelection {
 public:
  // `tags`: of the records.
  explicit GroupSelection(GroupRule rule = GroupRule::all, const RecordTags& tags = {})
      : rule_(rule),
        tag_bytes_(tags.bytes()),
        last_input_(tags.inputs.empty() ? 0 : tags.inputs.back()) {}
  // Of records without tags. `keys_of_groups`, unless null, tells groups apart whose keys differ
  // (KeyExtractor::keys_of_groups()), and must outlive it. GroupRule::first keeps `most` of each.
  GroupSelection(GroupRule rule, const KeyExtractor* keys_of_groups, std::uint64_t most = 1)
      : rule_(rule), tag_bytes_(0), last_input_(0), keys_of_groups_(keys_of_groups), most_(most) {}

  // Whether it tells groups apart: otherwise it keeps all.
  bool has_groups() const { return rule_ != GroupRule::all; }

  // Of the next record; `same_key`: as the one before.
  bool keeps(std::string_view record, bool same_key) {
    if (rule_ == GroupRule::all) return true;
    if (keys_of_groups_ != nullptr) same_key = same_key || is_same_group(record);
    if (rule_ == GroupRule::first) {
      of_input_ = same_key ? of_input_ + 1 : 0;
      return of_input_ < most_;
    }
    return keeps_of(tag_of(record, tag_bytes_), same_key);
  }

 private:
  bool is_same_group(std::string_view record) {
    const std::string_view key =
        key_of(*keys_of_groups_, record, KeyExtractor::kWholeKey, made_key_);
    if (has_group_ && key == group_key_) return true;
    has_group_ = true;
    group_key_ = key;
    return false;
  }
  bool keeps_of(std::uint64_t input, bool same_key) {
    if (!same_key) {
      inputs_before_ = records_before_ = of_input_ = 0;
      fewest_ = ~std::uint64_t{0};
    } else if (input != input_) {
      ++inputs_before_;
      records_before_ += of_input_;
      fewest_ = std::min(fewest_, of_input_);
      of_input_ = 0;
    }
    input_ = input;
    const std::uint64_t number = of_input_++;
    if (rule_ == GroupRule::first_of_each_input) return number == 0;
    if (input != last_input_) return false;
    const bool all_have_it = inputs_before_ == last_input_;
    switch (rule_) {
      case GroupRule::intersect:
        return all_have_it && number == 0;
      case GroupRule::intersect_all:
        return all_have_it && number < fewest_;
      case GroupRule::except:
        return records_before_ + number == 0;
      default:
        return number >= records_before_;
    }
  }

  GroupRule rule_;
  std::size_t tag_bytes_;
  std::uint64_t last_input_;
  const KeyExtractor* keys_of_groups_ = nullptr;
  std::uint64_t most_ = 1;
  bool has_group_ = false;  // with these keys: group_key_ is that of the last record
  std::string group_key_;
  std::string made_key_;
  // Of the group so far:
  std::uint64_t input_ = 0;           // of its last record
  std::uint64_t of_input_ = 0;        // records of that
  std::uint64_t inputs_before_ = 0;   // that have any
  std::uint64_t records_before_ = 0;  // of them
  std::uint64_t fewest_ = 0;          // of one of them
};

}  // namespace xxl
