// What a record is and where its key lies, as the user says it: --record and --key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xxl {

class KeyLabels;

enum class KeyType { u8, u16, u32, u64, i8, i16, i32, i64, f32, f64, bytes };

// One field of the key: `length` bytes at `offset` of the record.
struct KeyField {
  std::size_t offset = 0;
  std::size_t length = 0;
  KeyType type = KeyType::bytes;
  bool big_endian = false;
  bool descending = false;
};

// Records of one fixed size, and their key: the fields in order of significance.
//
// Order of floating-point keys: IEEE 754 totalOrder, that is -NaN < -inf < ... < -0.0 < +0.0 < ...
// < +inf < +NaN, NaNs by their bits. Byte strings compare as unsigned bytes.
struct RecordFormat {
  std::string name;  // as the user gave it
  std::size_t record_bytes = 0;
  std::vector<KeyField> key;
  std::shared_ptr<KeyLabels> labels = {};  // if set, a comparator is the key, in place of fields

  // Total bytes of the key.
  std::size_t key_bytes() const;
};

// Largest record, so that a few of them always fit in a budget that works.
inline constexpr std::size_t kMaxRecordBytes = std::size_t{1} << 26;

// fixed:N, u32 u64 i32 i64 f32 f64, kv32 kv64, gensort. The key of fixed:N is the whole record as
// bytes until set_key says otherwise. Throws Error{usage}, which names these types and those of the
// caller (`also`: "lines, csv, ").
RecordFormat parse_record_format(std::string_view spec, std::string_view also = "");

// How messages speak of an option that names a field of a record.
struct FieldOption {
  std::string_view name;   // --key
  std::string_view value;  // what was given
  std::string_view form;   // OFFSET:TYPE[:desc]
  std::string_view noun;   // key
};

// `text`, the OFFSET:TYPE of such a value. Throws Error{usage} as parse_key_field().
KeyField parse_field(const FieldOption& option, std::string_view text, const RecordFormat& format);

// OFFSET:TYPE[:desc], TYPE one of u8..u64, i8..i64, f32, f64 (with suffix `be` for big-endian) or
// bytesN. `descending`: without :desc or :asc. Throws Error{usage} when it is malformed or reaches
// out of a record of `format`; it names `option`.
KeyField parse_key_field(std::string_view spec, const RecordFormat& format, bool descending = false,
                         std::string_view option = "--key");

// Makes `spec`, as of parse_key_field() but of --part-by, the first field of the key of `format`,
// if it is not that already.
void part_by_field(std::string_view spec, bool descending, RecordFormat& format);

// Both in one; without keys, the one that belongs to the type.
RecordFormat parse_record_format(std::string_view spec, std::span<const std::string> keys,
                                 bool descending, std::string_view also);

}  // namespace xxl
