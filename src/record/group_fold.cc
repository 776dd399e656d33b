#include "record/group_fold.h"

#include <utility>

namespace xxl {
namespace {

class FirstOfGroup : public GroupFold {
 public:
  void begin(std::string_view record) override { first_ = record; }
  void add(std::string_view) override {}
  void finish(std::string& out) override { out.append(first_); }

 private:
  std::string first_;
};

class FoldOfSizes : public GroupFold {
 public:
  FoldOfSizes(GroupSizes sizes, std::unique_ptr<GroupFold> inner)
      : sizes_(sizes), inner_(std::move(inner)) {}

  void begin(std::string_view record) override {
    several_ = false;
    inner_->begin(record);
  }
  void add(std::string_view record) override {
    several_ = true;
    inner_->add(record);
  }
  void finish(std::string& out) override { inner_->finish(out); }
  bool keeps() const override { return (sizes_ == GroupSizes::several) == several_; }

 private:
  const GroupSizes sizes_;
  const std::unique_ptr<GroupFold> inner_;
  bool several_ = false;
};

}  // namespace

MakeGroupFold fold_of_sizes(GroupSizes sizes, MakeGroupFold inner) {
  return [sizes, inner = std::move(inner)]() -> std::unique_ptr<GroupFold> {
    auto fold = inner ? inner() : std::make_unique<FirstOfGroup>();
    if (sizes == GroupSizes::all) return fold;
    return std::make_unique<FoldOfSizes>(sizes, std::move(fold));
  };
}

}  // namespace xxl
