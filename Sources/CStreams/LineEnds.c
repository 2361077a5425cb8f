// The scan for line ends, once per instruction set. A block of 64 bytes becomes two masks, LF and CR; a LF that follows a
// CR is taken out; what is left is written as positions. See the header.
#include "CStreams.h"

#include <stdatomic.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#define TAIL 64
#define INLINE static inline __attribute__((always_inline))

typedef struct {
  uint64_t lf, cr;
} Masks;

/// State of one scan; the block functions differ, the rest is shared.
typedef struct {
  uint32_t *next;
  uint64_t carry;  // bit 0: the byte before the block is a CR
  uint64_t any_cr;
} Writer;

INLINE void write_block(Writer *w, Masks m, size_t base) {
  uint64_t ends = (m.lf & ~(m.cr << 1 | w->carry)) | m.cr;
  w->carry = m.cr >> 63;
  w->any_cr |= m.cr;
  uint32_t *next = w->next;
  while (ends) {
    *next++ = (uint32_t)(base + (size_t)__builtin_ctzll(ends));
    ends &= ends - 1;
  }
  w->next = next;
}

INLINE Masks masks_plain(const uint8_t *p, size_t n) {
  Masks m = {0, 0};
  for (size_t i = 0; i < n; i++) {
    m.lf |= (uint64_t)(p[i] == 0x0A) << i;
    m.cr |= (uint64_t)(p[i] == 0x0D) << i;
  }
  return m;
}

/// After how many times 128 bytes without a line end it is likely that the next ones have none either.
#define QUIET 3

/// After how many bytes without a line end a scan that has found some stops, so that its caller can take what follows as a long line.
#define LONG 512

/// Defines a scan from a function that makes the masks of 64 bytes and one that says whether 128 bytes may hold a line end (whether
/// their smallest is at most CR: text has few such bytes).
/// The last part of fewer than 64 bytes is read as the last 64 bytes of the range where it has that many (they lie before
/// it), else byte by byte: nothing outside the range is touched.
#define SCAN(NAME, TARGET, MASKS, ANY128, ANY256)                                                                         \
  TARGET static CStreams_Scan NAME(const uint8_t *bytes, size_t from, size_t count, uint32_t *positions) {          \
    Writer w = {positions, from > 0 && bytes[from - 1] == 0x0D, 0};                                                 \
    uint32_t *limit = positions + CSTREAMS_POSITIONS - 128;                                                         \
    size_t at = from;                                                                                               \
    unsigned quiet = 0;                                                                                             \
    while (count - at >= 128 && w.next <= limit) {                                                                  \
      if (ANY128(bytes + at)) {                                                                                     \
        write_block(&w, MASKS(bytes + at), at);                                                                     \
        write_block(&w, MASKS(bytes + at + 64), at + 64);                                                           \
        at += 128;                                                                                                  \
        quiet = 0;                                                                                                  \
        continue;                                                                                                   \
      }                                                                                                             \
      w.carry = 0;                                                                                                  \
      at += 128;                                                                                                    \
      if (++quiet >= QUIET) {                                                                                       \
        at -= (uintptr_t)(bytes + at) & 63;                                                                         \
        size_t stop = w.next == positions || count - at < 2 * LONG ? count : at + LONG;                             \
        while (stop - at >= 256 && !ANY256(bytes + at)) at += 256;                                                  \
        if (stop - at < 256 && stop < count) break;                                                                 \
      }                                                                                                             \
    }                                                                                                               \
    if (count - at >= 128) return (CStreams_Scan){(uint32_t)(w.next - positions), (uint32_t)at, w.any_cr != 0};     \
    while (count - at >= 64 && w.next <= limit) {                                                                   \
      write_block(&w, MASKS(bytes + at), at);                                                                       \
      at += 64;                                                                                                     \
    }                                                                                                               \
    if (count - at < 64 && w.next <= limit) {                                                                       \
      size_t rest = count - at;                                                                                     \
      if (rest > 0) {                                                                                               \
        Masks m;                                                                                                    \
        if (count >= 64) {                                                                                          \
          m = MASKS(bytes + count - 64);                                                                            \
          m.lf >>= 64 - rest, m.cr >>= 64 - rest;                                                                   \
        } else {                                                                                                    \
          m = masks_plain(bytes + at, rest);                                                                        \
        }                                                                                                           \
        write_block(&w, m, at);                                                                                     \
      }                                                                                                             \
      at = count;                                                                                                   \
    }                                                                                                               \
    return (CStreams_Scan){(uint32_t)(w.next - positions), (uint32_t)at, w.any_cr != 0};                            \
  }

/// Defines the search for one line end, with the same rule for the last part.
#define FIND(NAME, TARGET, MASKS)                                                                                    \
  TARGET static size_t NAME(const uint8_t *bytes, size_t count) {                                                    \
    size_t at = 0;                                                                                                   \
    for (; count - at >= 64; at += 64) {                                                                             \
      Masks m = MASKS(bytes + at);                                                                                   \
      if (m.lf | m.cr) return at + (size_t)__builtin_ctzll(m.lf | m.cr);                                             \
    }                                                                                                                \
    if (at == 0) return find_short(bytes, count);                                                                    \
    if (at == count) return count;                                                                                   \
    Masks m = MASKS(bytes + count - 64);                                                                             \
    uint64_t ends = (m.lf | m.cr) >> (64 - (count - at));                                                            \
    return ends ? at + (size_t)__builtin_ctzll(ends) : count;                                                        \
  }

/// Defines the copy of a run without line end from a function that copies 256 bytes unless they may hold one; stores begin where
/// `to` is even to 64.
#define COPY(NAME, TARGET, COPY256)                                                                                  \
  TARGET static size_t NAME(uint8_t *restrict to, const uint8_t *restrict bytes, size_t count) {                     \
    if (count < 256 || !COPY256(to, bytes)) return 0;                                                                \
    size_t at = 256 - ((uintptr_t)to & 63);                                                                          \
    while (count - at >= 256 && COPY256(to + at, bytes + at)) at += 256;                                             \
    return at;                                                                                                       \
  }

// ---- plain: eight bytes at a time, only to find out that they hold no line end

INLINE bool has_end_8(uint64_t v) {
  const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
  uint64_t a = v ^ (ones * 0x0A), b = v ^ (ones * 0x0D);
  return (((a - ones) & ~a) | ((b - ones) & ~b)) & highs;
}

/// Fewer than 64 bytes: eight at a time, the last eight from the end.
static size_t find_short(const uint8_t *bytes, size_t count) {
  size_t at = 0;
  if (count >= 8) {
    uint64_t v;
    for (; count - at >= 8; at += 8) {
      memcpy(&v, bytes + at, 8);
      if (has_end_8(v)) break;
    }
    if (count - at < 8) {
      memcpy(&v, bytes + count - 8, 8);
      if (!has_end_8(v)) return count;
    }
  }
  while (at < count && bytes[at] != 0x0A && bytes[at] != 0x0D) at++;
  return at;
}

INLINE bool any128_plain(const uint8_t *p) {
  for (int i = 0; i < 128; i += 8) {
    uint64_t v;
    memcpy(&v, p + i, 8);
    if (has_end_8(v)) return true;
  }
  return false;
}

INLINE Masks masks64_plain(const uint8_t *p) {
  Masks m = {0, 0};
  for (size_t i = 0; i < 64; i += 8) {
    uint64_t v;
    memcpy(&v, p + i, 8);
    if (!has_end_8(v)) continue;
    Masks part = masks_plain(p + i, 8);
    m.lf |= part.lf << i, m.cr |= part.cr << i;
  }
  return m;
}

INLINE bool any256_plain(const uint8_t *p) { return any128_plain(p) || any128_plain(p + 128); }
INLINE bool copy256_plain(uint8_t *restrict to, const uint8_t *restrict p) {
  if (any256_plain(p)) return false;
  memcpy(to, p, 256);
  return true;
}

SCAN(scan_plain, , masks64_plain, any128_plain, any256_plain)
FIND(find_plain, , masks64_plain)
COPY(copy_plain, , copy256_plain)

#if defined(__x86_64__)

// ---- SSE2: every x86-64 has it

INLINE Masks masks_sse2(const uint8_t *p) {
  const __m128i lf = _mm_set1_epi8(0x0A), cr = _mm_set1_epi8(0x0D);
  Masks m = {0, 0};
  for (int i = 0; i < 4; i++) {
    __m128i v = _mm_loadu_si128((const __m128i *)(p + 16 * i));
    m.lf |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, lf)) << (16 * i);
    m.cr |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, cr)) << (16 * i);
  }
  return m;
}

INLINE bool any128_sse2(const uint8_t *p) {
  __m128i low = _mm_loadu_si128((const __m128i *)p);
  for (int i = 1; i < 8; i++) low = _mm_min_epu8(low, _mm_loadu_si128((const __m128i *)(p + 16 * i)));
  return _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(low, _mm_set1_epi8(0x0D)), low)) != 0;
}

INLINE bool any256_sse2(const uint8_t *p) { return any128_sse2(p) || any128_sse2(p + 128); }
INLINE bool copy256_sse2(uint8_t *restrict to, const uint8_t *restrict p) {
  if (any256_sse2(p)) return false;
  memcpy(to, p, 256);
  return true;
}

SCAN(scan_sse2, , masks_sse2, any128_sse2, any256_sse2)
FIND(find_sse2, , masks_sse2)
COPY(copy_sse2, , copy256_sse2)

// ---- AVX2

#define AVX2 __attribute__((target("avx2,bmi")))

AVX2 INLINE Masks masks_avx2(const uint8_t *p) {
  const __m256i lf = _mm256_set1_epi8(0x0A), cr = _mm256_set1_epi8(0x0D);
  __m256i a = _mm256_loadu_si256((const __m256i *)p), b = _mm256_loadu_si256((const __m256i *)(p + 32));
  Masks m;
  m.lf = (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, lf))
      | (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, lf)) << 32;
  m.cr = (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, cr))
      | (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, cr)) << 32;
  return m;
}

AVX2 INLINE bool any128_avx2(const uint8_t *p) {
  __m256i a = _mm256_loadu_si256((const __m256i *)p), b = _mm256_loadu_si256((const __m256i *)(p + 32));
  __m256i c = _mm256_loadu_si256((const __m256i *)(p + 64)), d = _mm256_loadu_si256((const __m256i *)(p + 96));
  __m256i low = _mm256_min_epu8(_mm256_min_epu8(a, b), _mm256_min_epu8(c, d));
  return _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(low, _mm256_set1_epi8(0x0D)), low)) != 0;
}

AVX2 INLINE bool any256_avx2(const uint8_t *p) {
  __m256i v[8];
  for (int i = 0; i < 8; i++) v[i] = _mm256_loadu_si256((const __m256i *)(p + 32 * i));
  for (int step = 1; step < 8; step *= 2)
    for (int i = 0; i < 8; i += 2 * step) v[i] = _mm256_min_epu8(v[i], v[i + step]);
  return _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(v[0], _mm256_set1_epi8(0x0D)), v[0])) != 0;
}

AVX2 INLINE bool copy256_avx2(uint8_t *restrict to, const uint8_t *restrict p) {
  if (any256_avx2(p)) return false;
  for (int i = 0; i < 256; i += 32)
    _mm256_storeu_si256((__m256i *)(to + i), _mm256_loadu_si256((const __m256i *)(p + i)));
  return true;
}

SCAN(scan_avx2, AVX2, masks_avx2, any128_avx2, any256_avx2)
FIND(find_avx2, AVX2, masks_avx2)
COPY(copy_avx2, AVX2, copy256_avx2)

// ---- AVX-512: the compare makes the mask

#define AVX512 __attribute__((target("avx512bw,avx512f,bmi")))

AVX512 INLINE Masks masks_avx512(const uint8_t *p) {
  __m512i v = _mm512_loadu_si512(p);
  return (Masks){
      _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(0x0A)), _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(0x0D))};
}

AVX512 INLINE bool any128_avx512(const uint8_t *p) {
  __m512i low = _mm512_min_epu8(_mm512_loadu_si512(p), _mm512_loadu_si512(p + 64));
  return _mm512_cmple_epu8_mask(low, _mm512_set1_epi8(0x0D)) != 0;
}

AVX512 INLINE bool any256_avx512(const uint8_t *p) {
  __m512i low = _mm512_min_epu8(
      _mm512_min_epu8(_mm512_loadu_si512(p), _mm512_loadu_si512(p + 64)),
      _mm512_min_epu8(_mm512_loadu_si512(p + 128), _mm512_loadu_si512(p + 192)));
  return _mm512_cmple_epu8_mask(low, _mm512_set1_epi8(0x0D)) != 0;
}

AVX512 INLINE bool copy256_avx512(uint8_t *restrict to, const uint8_t *restrict p) {
  __m512i a = _mm512_loadu_si512(p), b = _mm512_loadu_si512(p + 64);
  __m512i c = _mm512_loadu_si512(p + 128), d = _mm512_loadu_si512(p + 192);
  __m512i low = _mm512_min_epu8(_mm512_min_epu8(a, b), _mm512_min_epu8(c, d));
  if (_mm512_cmple_epu8_mask(low, _mm512_set1_epi8(0x0D))) return false;
  _mm512_storeu_si512(to, a), _mm512_storeu_si512(to + 64, b);
  _mm512_storeu_si512(to + 128, c), _mm512_storeu_si512(to + 192, d);
  return true;
}

SCAN(scan_avx512, AVX512, masks_avx512, any128_avx512, any256_avx512)
FIND(find_avx512, AVX512, masks_avx512)
COPY(copy_avx512, AVX512, copy256_avx512)

#endif

#if defined(__aarch64__)

// ---- NEON: every arm64 has it

INLINE uint64_t mask_neon(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) {
  const uint8x16_t bits = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  uint8x16_t ab = vpaddq_u8(vandq_u8(a, bits), vandq_u8(b, bits));
  uint8x16_t cd = vpaddq_u8(vandq_u8(c, bits), vandq_u8(d, bits));
  uint8x16_t all = vpaddq_u8(ab, cd);
  all = vpaddq_u8(all, all);
  return vgetq_lane_u64(vreinterpretq_u64_u8(all), 0);
}

INLINE Masks masks_neon(const uint8_t *p) {
  const uint8x16_t lf = vdupq_n_u8(0x0A), cr = vdupq_n_u8(0x0D);
  uint8x16_t a = vld1q_u8(p), b = vld1q_u8(p + 16), c = vld1q_u8(p + 32), d = vld1q_u8(p + 48);
  return (Masks){
      mask_neon(vceqq_u8(a, lf), vceqq_u8(b, lf), vceqq_u8(c, lf), vceqq_u8(d, lf)),
      mask_neon(vceqq_u8(a, cr), vceqq_u8(b, cr), vceqq_u8(c, cr), vceqq_u8(d, cr))};
}

INLINE bool any128_neon(const uint8_t *p) {
  uint8x16_t low = vld1q_u8(p);
  for (int i = 1; i < 8; i++) low = vminq_u8(low, vld1q_u8(p + 16 * i));
  return vminvq_u8(low) <= 0x0D;
}

INLINE bool any256_neon(const uint8_t *p) { return any128_neon(p) || any128_neon(p + 128); }
INLINE bool copy256_neon(uint8_t *restrict to, const uint8_t *restrict p) {
  if (any256_neon(p)) return false;
  memcpy(to, p, 256);
  return true;
}

SCAN(scan_neon, , masks_neon, any128_neon, any256_neon)
FIND(find_neon, , masks_neon)
COPY(copy_neon, , copy256_neon)

#endif

// ---- choosing

typedef CStreams_Scan (*ScanFunction)(const uint8_t *, size_t, size_t, uint32_t *);

static CStreams_Scan scan_first(const uint8_t *bytes, size_t from, size_t count, uint32_t *positions);
static _Atomic(ScanFunction) scan = scan_first;
typedef size_t (*FindFunction)(const uint8_t *, size_t);

static size_t find_first(const uint8_t *bytes, size_t count);
static _Atomic(FindFunction) find = find_first;
typedef size_t (*CopyFunction)(uint8_t *restrict, const uint8_t *restrict, size_t);

static size_t copy_first(uint8_t *restrict to, const uint8_t *restrict bytes, size_t count);
static _Atomic(CopyFunction) copy = copy_first;
static _Atomic(int) used = -1;

bool CStreams_supports(CStreams_Path path) {
  switch (path) {
  case CStreams_plain: return true;
#if defined(__x86_64__)
  case CStreams_sse2: return true;
  case CStreams_avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
  case CStreams_avx512: return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi");
#endif
#if defined(__aarch64__)
  case CStreams_neon: return true;
#endif
  default: return false;
  }
}

bool CStreams_use(CStreams_Path path) {
  if (!CStreams_supports(path)) return false;
  ScanFunction chosen = scan_plain;
  FindFunction finder = find_plain;
  CopyFunction copier = copy_plain;
#if defined(__x86_64__)
  if (path == CStreams_sse2) chosen = scan_sse2, finder = find_sse2, copier = copy_sse2;
  if (path == CStreams_avx2) chosen = scan_avx2, finder = find_avx2, copier = copy_avx2;
  if (path == CStreams_avx512) chosen = scan_avx512, finder = find_avx512, copier = copy_avx512;
#endif
#if defined(__aarch64__)
  if (path == CStreams_neon) chosen = scan_neon, finder = find_neon, copier = copy_neon;
#endif
  atomic_store_explicit(&used, (int)path, memory_order_relaxed);
  atomic_store_explicit(&scan, chosen, memory_order_relaxed);
  atomic_store_explicit(&find, finder, memory_order_relaxed);
  atomic_store_explicit(&copy, copier, memory_order_relaxed);
  return true;
}

CStreams_Path CStreams_path(void) {
  int path = atomic_load_explicit(&used, memory_order_relaxed);
  if (path >= 0) return (CStreams_Path)path;
#if defined(__x86_64__)
  if (CStreams_use(CStreams_avx512) || CStreams_use(CStreams_avx2) || CStreams_use(CStreams_sse2)) return CStreams_path();
#endif
#if defined(__aarch64__)
  if (CStreams_use(CStreams_neon)) return CStreams_neon;
#endif
  CStreams_use(CStreams_plain);
  return CStreams_plain;
}

static CStreams_Scan scan_first(const uint8_t *bytes, size_t from, size_t count, uint32_t *positions) {
  CStreams_path();
  return atomic_load_explicit(&scan, memory_order_relaxed)(bytes, from, count, positions);
}

static size_t find_first(const uint8_t *bytes, size_t count) {
  CStreams_path();
  return atomic_load_explicit(&find, memory_order_relaxed)(bytes, count);
}

static size_t copy_first(uint8_t *restrict to, const uint8_t *restrict bytes, size_t count) {
  CStreams_path();
  return atomic_load_explicit(&copy, memory_order_relaxed)(to, bytes, count);
}

size_t CStreams_append_quiet(CStreams_Bytes *buffer, const uint8_t *bytes, size_t count) {
  if (buffer->capacity - buffer->count < count) CStreams_reserve(buffer, count);
  size_t taken = atomic_load_explicit(&copy, memory_order_relaxed)(buffer->bytes + buffer->count, bytes, count);
  buffer->count += (uint32_t)taken;
  return taken;
}

size_t CStreams_line_end(const uint8_t *bytes, size_t count) {
  return atomic_load_explicit(&find, memory_order_relaxed)(bytes, count);
}

CStreams_Scan CStreams_line_ends(const uint8_t *bytes, size_t from, size_t count, uint32_t *positions) {
  return atomic_load_explicit(&scan, memory_order_relaxed)(bytes, from, count, positions);
}

CStreams_Scratch *CStreams_begin(const uint8_t *bytes, size_t from, size_t count, CStreams_Scan *result) {
  CStreams_Scratch *scratch = CStreams_borrow();
  *result = atomic_load_explicit(&scan, memory_order_relaxed)(bytes, from, count, scratch->positions);
  return scratch;
}
