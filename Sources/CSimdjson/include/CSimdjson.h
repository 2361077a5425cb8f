// simdjson behind plain C functions: JSON text becomes a flat list of nodes. Uses simdjson's first stage (structure and UTF-8, by the best
// instructions of the machine) and walks its index strictly: what is not RFC 8259 is refused, but half surrogate pairs are kept. simdjson's
// own second stage cannot be used for the latter, nor without padding behind the text. Would go if Swift could call simdjson's C++.
#ifndef CSIMDJSON_H
#define CSIMDJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A value, with its key where it is a member. Nodes are in the order of the text.
typedef struct {
  /// A string's content without its quotes; the whole text of any other value.
  uint32_t start, end;
  /// Index of the node after this one and all that it contains.
  uint32_t next;
  /// The key's content without its quotes; both 0 for an element.
  uint32_t key_start, key_end;
  /// '{', '[', '"', '0' for a number, 't', 'f', 'n'.
  uint8_t kind;
  /// Which of the reader's known keys the key is, from 1; 0 for another or none.
  uint8_t key;
  /// Whether a string has a backslash.
  bool escaped;
  bool key_escaped;
} CSimdjson_Node;

typedef struct CSimdjson_Reader CSimdjson_Reader;

/// One reader a thread; its memory grows with the largest text and is given back after it. `names` are the keys that it knows, at most
/// 200, each followed by a NUL, all different.
CSimdjson_Reader *CSimdjson_create(const char *names, size_t count);
void CSimdjson_destroy(CSimdjson_Reader *reader);

enum {
  CSimdjson_invalid = -1,
  CSimdjson_not_utf8 = -2,
  CSimdjson_too_deep = -3,
};

/// Deepest nesting taken.
#define CSIMDJSON_DEPTH 256

/// Reads one text of less than 2 GiB. Returns the number of nodes, at least 1, and where they are until the next call; or one of the
/// negative values. Reads nothing outside bytes[0..<count].
int32_t CSimdjson_read(CSimdjson_Reader *reader, const uint8_t *bytes, size_t count, const CSimdjson_Node **nodes);

/// Writes a string's content without its escapes and returns its length, at most `count`. The content is one that `CSimdjson_read` took.
/// Half of a surrogate pair becomes U+FFFD.
size_t CSimdjson_unescape(const uint8_t *content, size_t count, uint8_t *out);

/// Checks the escapes of a string's content; true also where there are none.
bool CSimdjson_has_valid_escapes(const uint8_t *content, size_t count);

bool CSimdjson_is_utf8(const uint8_t *bytes, size_t count);

/// Whether `count` bytes are the same.
static inline bool CSimdjson_equal(const uint8_t *a, const uint8_t *b, size_t count) {
  while (count >= 8) {
    uint64_t x, y;
    memcpy(&x, a, 8), memcpy(&y, b, 8);
    if (x != y) return false;
    a += 8, b += 8, count -= 8;
  }
  for (size_t i = 0; i < count; i++)
    if (a[i] != b[i]) return false;
  return true;
}

/// The instruction set that simdjson uses here, `haswell` for example.
const char *CSimdjson_implementation(void);

#ifdef __cplusplus
}
#endif

#endif
