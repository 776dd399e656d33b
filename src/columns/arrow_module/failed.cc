#include "columns/arrow_module/failed.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

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

void fill(Failure& failure, ErrorCode code, int sys_errno, const char* text) noexcept {
  failure.code = static_cast<std::int32_t>(code);
  failure.sys_errno = sys_errno;
  std::snprintf(failure.text, sizeof failure.text, "%s", text);
}

}  // namespace

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text.append(": ");
    text.append(part);
  }
  return text;
}

std::string message_of(const ::arrow::Status& status) {
  std::string text = status.message();
  text.resize(std::min(text.size(), text.find('\n')));
  while (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

::arrow::Status system_error(int sys_errno, const char* what) {
  return {::arrow::StatusCode::IOError, what, std::make_shared<SystemError>(sys_errno)};
}

void check(const ::arrow::Status& status, std::string_view place) {
  if (status.ok()) return;
  const auto& detail = status.detail();
  if (detail != nullptr && std::strcmp(detail->type_id(), kTypeId) == 0) {
    throw Failed(ErrorCode::io, joined({place, message_of(status)}),
                 static_cast<const SystemError&>(*detail).sys_errno());
  }
  const ErrorCode code = status.IsOutOfMemory()      ? ErrorCode::no_space
                         : status.IsNotImplemented() ? ErrorCode::usage
                                                     : ErrorCode::bad_input;
  throw Failed(code, joined({place, message_of(status)}));
}

void describe_current(Failure& failure) {
  try {
    throw;
  } catch (const Failed& error) {
    fill(failure, error.code(), error.sys_errno(), error.what());
  } catch (const std::bad_alloc&) {
    fill(failure, ErrorCode::no_space, 0,
         "out of memory while a file of columns was read or written");
  } catch (const std::exception& error) {
    fill(failure, ErrorCode::bad_input, 0, error.what());
  }
}

}  // namespace xxl::arrow_module
