#define _GNU_SOURCE
#include "CPlatform.h"

#include <stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#if __has_include(<jemalloc/jemalloc.h>)
#include <jemalloc/jemalloc.h>
#define HAS_JEMALLOC 1
#endif

// ---- CRC-32C

static uint32_t crc_table[8][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void make_table(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int k = 0; k < 8; k++) c = (c & 1) ? (c >> 1) ^ 0x82F63B78u : c >> 1;
    crc_table[0][i] = c;
  }
  for (uint32_t i = 0; i < 256; i++)
    for (int t = 1; t < 8; t++)
      crc_table[t][i] = (crc_table[t - 1][i] >> 8) ^ crc_table[0][crc_table[t - 1][i] & 0xFF];
}

static uint32_t crc_plain(uint32_t crc, const uint8_t *p, size_t n) {
  pthread_once(&crc_once, make_table);
  while (n--) crc = (crc >> 8) ^ crc_table[0][(crc ^ *p++) & 0xFF];
  return crc;
}

#if defined(__x86_64__)
#include <nmmintrin.h>
__attribute__((target("sse4.2"))) static uint32_t crc_fast(uint32_t crc, const uint8_t *p, size_t n) {
  uint64_t c = crc;
  while (n >= 8) {
    uint64_t v;
    memcpy(&v, p, 8);
    c = _mm_crc32_u64(c, v);
    p += 8, n -= 8;
  }
  uint32_t d = (uint32_t)c;
  while (n--) d = _mm_crc32_u8(d, *p++);
  return d;
}
#endif

uint32_t CPlatform_crc32c(uint32_t crc, const void *bytes, size_t count) {
  crc = ~crc;
#if defined(__x86_64__)
  static int fast = -1;
  if (fast < 0) fast = __builtin_cpu_supports("sse4.2") ? 1 : 0;
  if (fast) return ~crc_fast(crc, bytes, count);
#endif
  return ~crc_plain(crc, bytes, count);
}

// ---- jemalloc

bool CPlatform_has_jemalloc(void) {
#ifdef HAS_JEMALLOC
  // It may be there and not be asked: another allocator may stand before it (preloaded, a sanitizer's).
  uint64_t before, after;
  if (!CPlatform_mallctl_read("thread.allocated", &before)) return false;
  void *volatile block = malloc(1 << 16);
  bool isAsked = CPlatform_mallctl_read("thread.allocated", &after) && after - before >= 1 << 16;
  free(block);
  return isAsked;
#else
  return false;
#endif
}

bool CPlatform_mallctl_read(const char *name, uint64_t *value) {
#ifdef HAS_JEMALLOC
  uint64_t wide = 0;
  size_t size = sizeof wide;
  if (mallctl(name, &wide, &size, NULL, 0) == 0 && size == sizeof wide) {
    *value = wide;
    return true;
  }
  uint32_t narrow = 0;
  size = sizeof narrow;
  if (mallctl(name, &narrow, &size, NULL, 0) == 0 && size == sizeof narrow) {
    *value = narrow;
    return true;
  }
#endif
  return false;
}

void CPlatform_mallctl_refresh(void) {
#ifdef HAS_JEMALLOC
  uint64_t epoch = 1;
  size_t size = sizeof epoch;
  mallctl("epoch", &epoch, &size, &epoch, size);
#endif
}

void CPlatform_mallctl_flush_thread_cache(void) {
#ifdef HAS_JEMALLOC
  mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
#endif
}

int CPlatform_own_arena(void) {
#ifdef HAS_JEMALLOC
  unsigned arena = 0;
  size_t size = sizeof arena;
  if (mallctl("arenas.create", &arena, &size, NULL, 0) != 0) return -1;
  if (mallctl("thread.arena", NULL, NULL, &arena, sizeof arena) != 0) return -1;
  return (int)arena;
#else
  return -1;
#endif
}

int CPlatform_all_arenas(void) {
#ifdef HAS_JEMALLOC
  return MALLCTL_ARENAS_ALL;
#else
  return -1;
#endif
}

bool CPlatform_arena_requests(int arena, uint64_t *requests) {
  char name[64];
  uint64_t small = 0, large = 0;
  snprintf(name, sizeof name, "stats.arenas.%d.small.nrequests", arena);
  if (!CPlatform_mallctl_read(name, &small)) return false;
  snprintf(name, sizeof name, "stats.arenas.%d.large.nrequests", arena);
  if (!CPlatform_mallctl_read(name, &large)) return false;
  *requests = small + large;
  return true;
}

/// Sum over the size classes of one kind ("bin" or "lextent") of requests times size.
static bool add_classes(int arena, const char *kind, uint64_t count, uint64_t *bytes) {
  char name[64];
  for (uint64_t i = 0; i < count; i++) {
    uint64_t requests = 0, size = 0;
    snprintf(name, sizeof name, "stats.arenas.%d.%ss.%u.nrequests", arena, kind, (unsigned)i);
    if (!CPlatform_mallctl_read(name, &requests)) return false;
    if (requests == 0) continue;
    snprintf(name, sizeof name, "arenas.%s.%u.size", kind, (unsigned)i);
    if (!CPlatform_mallctl_read(name, &size)) return false;
    *bytes += requests * size;
  }
  return true;
}

bool CPlatform_arena_bytes(int arena, uint64_t *bytes) {
  uint64_t bins = 0, large = 0, sum = 0;
  if (!CPlatform_mallctl_read("arenas.nbins", &bins) || !CPlatform_mallctl_read("arenas.nlextents", &large)) return false;
  if (!add_classes(arena, "bin", bins, &sum) || !add_classes(arena, "lextent", large, &sum)) return false;
  *bytes = sum;
  return true;
}

const uint64_t *CPlatform_thread_allocated(void) {
#ifdef HAS_JEMALLOC
  uint64_t *address = NULL;
  size_t size = sizeof address;
  if (mallctl("thread.allocatedp", &address, &size, NULL, 0) == 0) return address;
#endif
  return NULL;
}

const uint64_t *CPlatform_thread_deallocated(void) {
#ifdef HAS_JEMALLOC
  uint64_t *address = NULL;
  size_t size = sizeof address;
  if (mallctl("thread.deallocatedp", &address, &size, NULL, 0) == 0) return address;
#endif
  return NULL;
}

// ---- clocks and processes

static int64_t read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t CPlatform_thread_cpu_ns(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
int64_t CPlatform_monotonic_ns(void) { return read_clock(CLOCK_MONOTONIC); }
int64_t CPlatform_realtime_ns(void) { return read_clock(CLOCK_REALTIME); }

int CPlatform_enter_realtime(void) {
  struct sched_param parameter = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
  return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter);
}

int CPlatform_accept(int listener) {
#if defined(__linux__)
  return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
#else
  int accepted = accept(listener, NULL, NULL);
  if (accepted >= 0) {
    fcntl(accepted, F_SETFL, O_NONBLOCK);
    fcntl(accepted, F_SETFD, FD_CLOEXEC);
  }
  return accepted;
#endif
}

int CPlatform_die_with_parent(void) {
#if defined(__linux__)
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 ? 0 : errno;
#else
  return ENOTSUP;
#endif
}

#if defined(__linux__)
int CPlatform_epoll_wait(int queue, struct epoll_event *events, int capacity, int64_t timeout_ns) {
  static int missing = 0;
  if (timeout_ns < 0) return epoll_wait(queue, events, capacity, -1);
  if (timeout_ns == 0) return epoll_wait(queue, events, capacity, 0);
  if (!__atomic_load_n(&missing, __ATOMIC_RELAXED)) {
    struct timespec limit = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
    int count = epoll_pwait2(queue, events, capacity, &limit, NULL);
    if (count >= 0 || errno != ENOSYS) return count;
    __atomic_store_n(&missing, 1, __ATOMIC_RELAXED);
  }
  int64_t milliseconds = (timeout_ns + 999999) / 1000000;
  return epoll_wait(queue, events, capacity, milliseconds > 3600000 ? 3600000 : (int)milliseconds);
}

void CPlatform_exact_timers(void) { prctl(PR_SET_TIMERSLACK, 1UL); }
#endif
