// Failures of system calls as Arrow's statuses, which keep their errno value.
#pragma once

#include <arrow/status.h>

#include <optional>

namespace xxl::arrow_module {

// `what` names the operation; the errno value's own text is not part of the message.
::arrow::Status system_error(int sys_errno, const char* what);
// The errno value of such a status.
std::optional<int> system_error_of(const ::arrow::Status& status);

}  // namespace xxl::arrow_module
