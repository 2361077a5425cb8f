// What Swift's importer cannot see of the platform: epoll, timerfd, eventfd (their headers are not in the Glibc
// module), jemalloc's mallctl, and the CRC-32C instruction. Would go if Swift's Glibc module held them.
#ifndef CPLATFORM_H
#define CPLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__linux__)
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sched.h>

/// `epoll_pwait2` in nanoseconds (negative: no limit); where the kernel lacks it, `epoll_wait` rounded up.
int CPlatform_epoll_wait(int queue, struct epoll_event *events, int capacity, int64_t timeout_ns);

/// The token of an event: Swift imports the union, but not without a copy of the packed struct.
static inline uint64_t CPlatform_epoll_token(const struct epoll_event *event) { return event->data.u64; }
static inline struct epoll_event CPlatform_epoll_event(uint32_t events, uint64_t token) {
  return (struct epoll_event){.events = events, .data.u64 = token};
}

/// Sets the slack of this thread's timers to the least there is; the default of 50 us would delay every wait.
void CPlatform_exact_timers(void);
#endif

/// CRC-32C (Castagnoli) of `count` bytes, continuing from `crc` (0 to begin). By instruction where there is one.
uint32_t CPlatform_crc32c(uint32_t crc, const void *bytes, size_t count);

/// Whether allocation in this process goes through jemalloc.
bool CPlatform_has_jemalloc(void);

/// One `mallctl` read of a number; false where the name is unknown or there is no jemalloc.
bool CPlatform_mallctl_read(const char *name, uint64_t *value);

/// Refreshes jemalloc's statistics (its "epoch"). Costs some 20 microseconds.
void CPlatform_mallctl_refresh(void);

/// Returns cached allocations of this thread to the arenas, so that counts of requests are exact.
void CPlatform_mallctl_flush_thread_cache(void);

/// Gives this thread an arena of its own, so that its requests to the allocator can be counted apart from those of
/// other threads. The arena's index, or -1 without jemalloc.
int CPlatform_own_arena(void);
/// What stands for all arenas together in the next call; -1 without jemalloc.
int CPlatform_all_arenas(void);

/// How often memory was asked for from an arena so far. To be exact: flush the thread's cache and refresh first.
bool CPlatform_arena_requests(int arena, uint64_t *requests);

/// How many bytes those requests were for, each rounded up to its size class. Some 230 readings: not for every turn.
bool CPlatform_arena_bytes(int arena, uint64_t *bytes);

/// Addresses of this thread's counters of bytes allocated and freed; NULL without jemalloc.
const uint64_t *CPlatform_thread_allocated(void);
const uint64_t *CPlatform_thread_deallocated(void);

/// This thread's CPU time (user and system), in nanoseconds.
int64_t CPlatform_thread_cpu_ns(void);

/// The monotonic clock, in nanoseconds.
int64_t CPlatform_monotonic_ns(void);

/// The wall clock, in nanoseconds since 1970.
int64_t CPlatform_realtime_ns(void);

/// Gives the calling thread the lowest real-time FIFO priority; 0, or the errno that refused it.
int CPlatform_enter_realtime(void);

/// The next connection of a listening socket, not blocking and closed on exec; −1 and errno where there is none.
int CPlatform_accept(int listener);

/// Ends this process with SIGKILL when its parent ends. 0, or the errno that refused it.
int CPlatform_die_with_parent(void);

#endif
