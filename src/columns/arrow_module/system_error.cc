#include "columns/arrow_module/system_error.h"

#include <cstring>
#include <memory>
#include <string>

namespace xxl::arrow_module {
namespace {

constexpr const char* kTypeId = "xxl::SystemError";

class SystemError : public ::arrow::StatusDetail {
 public:
  explicit SystemError(int sys_errno) : sys_errno_(sys_errno) {}
  const char* type_id() const override { return kTypeId; }
  std::string ToString() const override { return std::strerror(sys_errno_); }
  int sys_errno() const { return sys_errno_; }

 private:
  int sys_errno_;
};

}  // namespace

::arrow::Status system_error(int sys_errno, const char* what) {
  return {::arrow::StatusCode::IOError, what, std::make_shared<SystemError>(sys_errno)};
}

std::optional<int> system_error_of(const ::arrow::Status& status) {
  const auto& detail = status.detail();
  if (detail == nullptr || std::strcmp(detail->type_id(), kTypeId) != 0) return std::nullopt;
  return static_cast<const SystemError&>(*detail).sys_errno();
}

}  // namespace xxl::arrow_module
