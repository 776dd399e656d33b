// Slices of batches that are larger than memory: of uncompressed Arrow files, only the bytes of the
// rows that are wanted are read.
//
// The library reads the body of a batch as one piece. A file gives it a mapping instead, which the
// library only does arithmetic with; where its buffers lie in the mapping is where their bytes are
// in the file:
//
//   file      ... | validity | offsets         | bytes of text                    | ...
//   mapping         ^ buffers of the column: pointers into it
//   rows 2, 3         read:     offsets 2 to 4   bytes from offset 2 to offset 4
//
// Views of text (string_view) may lie anywhere in their buffers: what the rows refer to is copied
// into one.
//
// So nothing of the mapping is in memory, and a file that shrinks is an error, not a signal.
#pragma once

#include <arrow/record_batch.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "columns/arrow_module/posix_files.h"

namespace xxl::arrow_module {

// Whether any buffer of the batch is mapped.
bool is_mapped(const ::arrow::RecordBatch& batch, const PosixFile& mapped);

// Rows of a batch that is mapped, in memory: from `row` on, `count`, or fewer if the texts that
// their views refer to would take more than `bytes`. Throws Failed with `place` in front.
struct SliceOf {
  std::int64_t row, count, bytes;
};
std::shared_ptr<::arrow::RecordBatch> read_slice(const ::arrow::RecordBatch& batch,
                                                 const SliceOf& slice, const PosixFile& mapped,
                                                 std::string_view place);

}  // namespace xxl::arrow_module
