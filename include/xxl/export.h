// What programs call in the library, and what the shared library exports: all else is hidden.
#pragma once

// In front of a declaration.
#define XXL_API __attribute__((visibility("default")))
