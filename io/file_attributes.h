// What a file has besides its content: owner, group, mode, access control list, extended
// attributes, and what chattr(1) sets.
#pragma once

namespace xxl::io {

// Makes the attributes of file `to` those of file `from` (open descriptors), as far as writing new
// content into `from` would have kept them. Only what differs is set: many file systems refuse to
// set an unsupported attribute even to its current value. False if something was refused. At no
// time does anybody but the owner have rights to `to` that `from` does not give.
bool copy_attributes(int from, int to);

}  // namespace xxl::io
