// Every function of LineEnds.c on the path NEON against the plain one, on seeded random bytes at every alignment. For neon.py, which builds
// it for arm64 and runs it there or under qemu.
#include "CStreams.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 88172645463325252u;
static uint64_t next(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

static uint8_t bytes[8192 + 64], copied[16384];
static uint32_t positions[CSTREAMS_POSITIONS], ends[2][8192];

/// All line ends from `from` on; a scan may stop early, and the paths do so at places of their own.
static size_t all_ends(const uint8_t *text, size_t from, size_t count, uint32_t *out) {
  size_t found = 0;
  while (from < count) {
    CStreams_Scan scan = CStreams_line_ends(text, from, count, positions);
    memcpy(out + found, positions, scan.found * sizeof *out);
    found += scan.found;
    from = scan.scanned;
  }
  return found;
}

int main(void) {
  if (!CStreams_supports(CStreams_neon)) return fprintf(stderr, "no NEON here\n"), 77;
  unsigned long compared = 0;
  for (int round = 0; round < 20000; round++) {
    uint8_t *text = bytes + next() % 64;
    size_t count = next() % (round % 8 ? 700 : 8192);
    unsigned rare = 1 + next() % (round % 8 ? 400 : 4000);
    for (size_t i = 0; i < count; i++) {
      uint64_t r = next();
      text[i] = r % rare ? 0x20 + r / rare % 200 : "\n\r\n\r\x0B\x0C\x09"[r / rare % 8];
    }
    size_t from = count ? next() % (count + 1) : 0;
    size_t found[2], end[2];
    for (int path = 0; path < 2; path++) {
      CStreams_use(path ? CStreams_neon : CStreams_plain);
      found[path] = all_ends(text, from, count, ends[path]);
      end[path] = CStreams_line_end(text, count);
    }
    CStreams_Bytes room = {copied + round % 64, 0, 16000};
    size_t quiet = CStreams_append_quiet(&room, text, count);
    int same = found[0] == found[1] && memcmp(ends[0], ends[1], found[0] * sizeof ends[0][0]) == 0 && end[0] == end[1]
        && quiet <= end[0] && room.count == quiet && memcmp(room.bytes, text, quiet) == 0;
    if (!same) return fprintf(stderr, "round %d: the paths differ (%zu bytes from %zu)\n", round, count, from), 1;
    compared++;
  }
  printf("%lu inputs: NEON and plain give the same\n", compared);
  return 0;
}
