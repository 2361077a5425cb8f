// The scan for line ends in vector instructions that Swift cannot name, chosen at run time by what the machine has,
// and the growable byte buffers of the parsers. Knows bytes only, no fields and no events. Function-level target
// attributes keep the package free of build flags; since a function with such an attribute is never inlined into one
// without, one call scans a whole read. Would go if Swift's SIMD types compiled to a compare and a movemask.
#ifndef CSTREAMS_H
#define CSTREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// Bytes that grow; `capacity` 0 means no memory is held.
typedef struct {
  uint8_t *bytes;
  uint32_t count;
  uint32_t capacity;
} CStreams_Bytes;

/// Makes room for `more` bytes. Ends the process where memory runs out or 2 GiB would be passed: callers bound what they keep.
void CStreams_reserve(CStreams_Bytes *buffer, size_t more);
/// Gives the memory back.
void CStreams_release(CStreams_Bytes *buffer);

static inline __attribute__((always_inline)) void CStreams_append(CStreams_Bytes *buffer, const void *bytes, size_t count) {
  if (buffer->capacity - buffer->count < count) CStreams_reserve(buffer, count);
  if (count) memcpy(buffer->bytes + buffer->count, bytes, count);
  buffer->count += (uint32_t)count;
}

static inline __attribute__((always_inline)) void CStreams_append_byte(CStreams_Bytes *buffer, uint8_t byte) {
  if (buffer->capacity == buffer->count) CStreams_reserve(buffer, 1);
  buffer->bytes[buffer->count++] = byte;
}

/// Appends two lines and the LF between them.
static inline __attribute__((always_inline)) void CStreams_join_lines(
    CStreams_Bytes *buffer, const void *first, size_t first_count, const void *second, size_t second_count) {
  size_t all = first_count + 1 + second_count;
  if (buffer->capacity - buffer->count < all) CStreams_reserve(buffer, all);
  uint8_t *to = buffer->bytes + buffer->count;
  if (first_count) memcpy(to, first, first_count);
  to[first_count] = 0x0A;
  if (second_count) memcpy(to + first_count + 1, second, second_count);
  buffer->count += (uint32_t)all;
}

/// What one thread lends to the parser that runs on it: positions of line ends, and room to join data lines in.
typedef struct {
  uint32_t *positions;
  CStreams_Bytes join;
} CStreams_Scratch;

/// The address of the join buffer.
static inline CStreams_Bytes *CStreams_join(CStreams_Scratch *scratch) { return &scratch->join; }

/// How many positions `CStreams_Scratch.positions` holds.
#define CSTREAMS_POSITIONS 1024

/// The thread's scratch, or a fresh one where it is lent out already. Never NULL.
CStreams_Scratch *CStreams_borrow(void);
/// Gives a scratch back; a large join buffer is released.
void CStreams_return(CStreams_Scratch *scratch);

/// What one scan found.
typedef struct {
  /// Positions written.
  uint32_t found;
  /// Where the next scan begins; `count` when all has been looked at.
  uint32_t scanned;
  /// Whether any of the line ends is a CR.
  bool has_cr;
} CStreams_Scan;

/// Writes where lines end in bytes[from..<count]: at each LF and CR, but a CRLF only once, at its CR. Reads bytes[from-1] where
/// from > 0. `positions` has room for CSTREAMS_POSITIONS; the scan stops early when it may not hold a further block's, and when
/// a line that begins behind a line end has become long.
/// `count` is at most UINT32_MAX.
CStreams_Scan CStreams_line_ends(const uint8_t *bytes, size_t from, size_t count, uint32_t *positions);

/// Position of the first LF or CR; `count` where there is none. For a few hundred bytes.
size_t CStreams_line_end(const uint8_t *bytes, size_t count);

/// Appends bytes for as long as 256 of them hold no line end, looking and copying in one go. Returns how many; the next ones may have
/// none either. Room for all `count` is made.
size_t CStreams_append_quiet(CStreams_Bytes *buffer, const uint8_t *bytes, size_t count);

/// Borrows the thread's scratch and scans into it: the start of every read, in one call.
CStreams_Scratch *CStreams_begin(const uint8_t *bytes, size_t from, size_t count, CStreams_Scan *scan);

/// The instructions that a scan can use.
typedef enum {
  CStreams_plain = 0,
  CStreams_sse2 = 1,
  CStreams_avx2 = 2,
  CStreams_avx512 = 3,
  CStreams_neon = 4,
} CStreams_Path;

/// Whether this machine has the instructions of `path`.
bool CStreams_supports(CStreams_Path path);
/// The path in use: the best one that the machine has, unless told otherwise.
CStreams_Path CStreams_path(void);
/// Uses `path` from now on, in all threads; false where the machine lacks it. For tests and figures.
bool CStreams_use(CStreams_Path path);

/// Position of the first '"', '\\' or control character (below 0x20) in a JSON string; `count` where there is none.
/// `all_ascii` is cleared when a byte of 0x80 or above stands before it.
size_t CStreams_string_end(const uint8_t *bytes, size_t count, bool *all_ascii);

/// Whether a byte is 0.
static inline bool CStreams_has_nul(const void *bytes, size_t count) {
  const uint8_t *p = bytes;
  if (count > 16) return memchr(p, 0, count) != NULL;
  if (count >= 8) {
    // The usual id is short: two words that overlap.
    uint64_t a, b;
    memcpy(&a, p, 8), memcpy(&b, p + count - 8, 8);
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    return ((((a - ones) & ~a) | ((b - ones) & ~b)) & highs) != 0;
  }
  for (size_t i = 0; i < count; i++)
    if (p[i] == 0) return true;
  return false;
}

/// memchr, which Swift sees only through the platform's C library.
static inline const void *CStreams_find(const void *bytes, uint8_t byte, size_t count) { return memchr(bytes, byte, count); }

/// 64-bit hash of bytes, for telling one stream's prefixes apart; not against an adversary.
uint64_t CStreams_hash(const uint8_t *bytes, size_t count, uint64_t seed);

#endif
