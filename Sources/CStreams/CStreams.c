// Buffers and the per-thread scratch. See the header.
#include "CStreams.h"

#include <pthread.h>
#include <stdlib.h>

void CStreams_reserve(CStreams_Bytes *buffer, size_t more) {
  size_t needed = (size_t)buffer->count + more;
  if (needed > (size_t)1 << 31) abort();
  size_t capacity = buffer->capacity ? (size_t)buffer->capacity * 2 : 32;
  while (capacity < needed) capacity *= 2;
  uint8_t *bytes = realloc(buffer->bytes, capacity);
  if (!bytes) abort();
  buffer->bytes = bytes;
  buffer->capacity = (uint32_t)capacity;
}

void CStreams_release(CStreams_Bytes *buffer) {
  free(buffer->bytes);
  buffer->bytes = NULL;
  buffer->count = 0;
  buffer->capacity = 0;
}

typedef struct {
  CStreams_Scratch scratch;
  /// Whether the end of the thread frees it.
  bool is_threads_own;
  uint32_t positions[CSTREAMS_POSITIONS];
} Owned;

static _Thread_local CStreams_Scratch *idle;
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void release(void *owned) {
  CStreams_Scratch *scratch = owned;
  free(scratch->join.bytes);
  free(scratch);
}

static void release_at_thread_end(void *owned) {
  idle = NULL;
  release(owned);
}

static void make_key(void) { pthread_key_create(&at_thread_end, release_at_thread_end); }

static CStreams_Scratch *make(void) {
  Owned *owned = malloc(sizeof *owned);
  if (!owned) abort();
  owned->scratch.positions = owned->positions;
  owned->scratch.join = (CStreams_Bytes){0};
  pthread_once(&once, make_key);
  owned->is_threads_own = pthread_getspecific(at_thread_end) == NULL;
  if (owned->is_threads_own) pthread_setspecific(at_thread_end, owned);
  return &owned->scratch;
}

CStreams_Scratch *CStreams_borrow(void) {
  CStreams_Scratch *scratch = idle;
  if (__builtin_expect(!scratch, 0)) return make();
  idle = NULL;
  return scratch;
}

void CStreams_return(CStreams_Scratch *scratch) {
  scratch->join.count = 0;
  if (scratch->join.capacity > 1 << 18) CStreams_release(&scratch->join);
  if (((Owned *)scratch)->is_threads_own) {
    idle = scratch;
  } else {
    release(scratch);
  }
}
