// Two functions for reading token deltas: where a JSON string ends, and a hash of the bytes around it. See the header.
#include "CStreams.h"

static inline uint64_t load(const uint8_t *p) {
  uint64_t v;
  memcpy(&v, p, 8);
  return v;
}

/// Bit 7 of each byte that is '"', '\\' or below 0x20. Bytes of 0x80 and above never are.
static inline uint64_t special(uint64_t v) {
  const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
  uint64_t quote = v ^ (ones * 0x22), backslash = v ^ (ones * 0x5C);
  uint64_t found = ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) | ((v - ones * 0x20) & ~v);
  return found & highs;
}

size_t CStreams_string_end(const uint8_t *bytes, size_t count, bool *all_ascii) {
  const uint64_t highs = 0x8080808080808080u;
  size_t at = 0;
  for (; count - at >= 8; at += 8) {
    uint64_t v = load(bytes + at);
    uint64_t found = special(v);
    if (found) {
      // Borrows run upwards only, so the lowest bit set is exact.
      unsigned bit = (unsigned)__builtin_ctzll(found);
      if (v & highs & ((1ull << bit) - 1)) *all_ascii = false;
      return at + bit / 8;
    }
    if (v & highs) *all_ascii = false;
  }
  for (; at < count; at++) {
    uint8_t c = bytes[at];
    if (c == 0x22 || c == 0x5C || c < 0x20) return at;
    if (c >= 0x80) *all_ascii = false;
  }
  return count;
}

static inline uint64_t mix(uint64_t a, uint64_t b) {
  unsigned __int128 r = (unsigned __int128)a * b;
  return (uint64_t)r ^ (uint64_t)(r >> 64);
}

// After the scheme of wyhash (Wang Yi, public domain): two words are folded by one multiplication.
uint64_t CStreams_hash(const uint8_t *p, size_t count, uint64_t seed) {
  const uint64_t k0 = 0x9e3779b97f4a7c15u, k1 = 0xe7037ed1a0b428dbu, k2 = 0x8ebc6af09c88c6e3u;
  uint64_t a = seed ^ k0, b = seed ^ k2;
  size_t left = count;
  while (left >= 32) {
    a = mix(load(p) ^ k1, load(p + 8) ^ a);
    b = mix(load(p + 16) ^ k2, load(p + 24) ^ b);
    p += 32, left -= 32;
  }
  if (left >= 16) {
    a = mix(load(p) ^ k1, load(p + 8) ^ a);
    p += 16, left -= 16;
  }
  if (left > 0) {
    uint64_t x = 0, y = 0;
    if (left >= 8) {
      x = load(p), y = load(p + left - 8);
    } else {
      for (size_t i = 0; i < left; i++) x |= (uint64_t)p[i] << (8 * i);
    }
    b = mix(x ^ k2, y ^ b);
  }
  return mix(a ^ k0 ^ count, b ^ k1);
}
