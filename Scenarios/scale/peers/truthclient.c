// The minimal client of the side by side: what any client could have seen at best, and the least CPU that it takes. One
// thread, one epoll, plain HTTP/1.1. In: an address. Out: one JSON line of figures on stdout.
//
//   gcc -O2 -o truthclient truthclient.c
//   truthclient HOST PORT LIVE REQUESTS
//
// A token event is a data line with `"content":"` and after it `"t_ns":"`, the server's stamp from the same machine's
// monotonic clock. `itl` is the gap between two token events of a stream, `ttft` counts from the request sent,
// `ttft_connecting` from before connect(), `delivery` is receive − stamp. `stamp_…` are the same figures by the server's
// stamps, `…_error` the distance of the two for each value. A live place reuses its connection.
// It does not decode chunks: it expects that no data line lies across two chunks, which both servers keep.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { KEPT_BYTES = 1024, READ_BYTES = 262144, SILENCE_MS = 60000 };

typedef struct place {
  int descriptor;
  bool connecting, marker_seen;
  uint32_t tokens;
  uint64_t started, sent, last, last_stamp;
  size_t kept_length;
  char kept[KEPT_BYTES];  // the beginning of a line whose end has not come
} place;

// Microseconds, all of them: a histogram would hide what it rounds.
typedef struct values {
  uint32_t *items;
  size_t count, capacity;
} values;

static values ttft, ttft_connecting, itl, delivery, stamp_ttft, stamp_itl, ttft_error, itl_error;
static long started, completed, failed, total, live;
static uint64_t data_events, reads;
static int events_queue;
static struct sockaddr_in address;
static char request[512];
static size_t request_length;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void add(values *v, uint64_t ns) {
  if (v->count == v->capacity) {
    v->capacity = v->capacity ? v->capacity * 2 : 1 << 16;
    v->items = realloc(v->items, v->capacity * sizeof *v->items);
    if (!v->items) exit(70);
  }
  uint64_t us = ns / 1000;
  v->items[v->count++] = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

static uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

static void send_request(place *p) {
  p->tokens = 0;
  p->marker_seen = false;
  p->kept_length = 0;
  p->sent = now_ns();
  if (!p->connecting) p->started = p->sent;  // a reused connection starts with its request
  p->connecting = false;
  if (write(p->descriptor, request, request_length) != (ssize_t)request_length) p->sent = 0;
}

static void start(place *p) {
  p->started = now_ns();
  p->connecting = true;
  p->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (p->descriptor < 0) {
    perror("truthclient: socket");
    exit(71);
  }
  int one = 1;
  setsockopt(p->descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  connect(p->descriptor, (void *)&address, sizeof address);
  struct epoll_event event = {.events = EPOLLOUT, .data.ptr = p};
  epoll_ctl(events_queue, EPOLL_CTL_ADD, p->descriptor, &event);
  started++;
  live++;
}

static void fail(place *p) {
  close(p->descriptor);
  live--;
  failed++;
  if (started < total) start(p);
}

static void complete(place *p) {
  completed++;
  if (started < total) {
    started++;
    send_request(p);
    return;
  }
  close(p->descriptor);
  live--;
}

static void token(place *p, const char *stamp_text, uint64_t now) {
  uint64_t stamp = strtoull(stamp_text, NULL, 10);
  add(&delivery, now > stamp ? now - stamp : 0);
  if (!p->tokens++) {
    add(&ttft, now - p->sent);
    add(&ttft_connecting, now - p->started);
    add(&stamp_ttft, stamp > p->sent ? stamp - p->sent : 0);
    add(&ttft_error, distance(now, stamp));
  } else {
    add(&itl, now - p->last);
    add(&stamp_itl, stamp - p->last_stamp);
    add(&itl_error, distance(now - p->last, stamp - p->last_stamp));
  }
  p->last = now;
  p->last_stamp = stamp;
}

static char buffer[KEPT_BYTES + READ_BYTES];

static void receive(place *p) {
  memcpy(buffer, p->kept, p->kept_length);
  ssize_t count = recv(p->descriptor, buffer + p->kept_length, READ_BYTES, 0);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0) {
    fail(p);
    return;
  }
  uint64_t now = now_ns();
  reads++;
  char *line = buffer, *end = buffer + p->kept_length + count;
  for (char *line_end; (line_end = memchr(line, '\n', (size_t)(end - line))); line = line_end + 1) {
    if (line_end - line < 7 || memcmp(line, "data: ", 6)) continue;
    if (line[6] == '[') {
      p->marker_seen = true;
      continue;
    }
    data_events++;
    char *content = memmem(line, (size_t)(line_end - line), "\"content\":\"", 11);
    if (!content) continue;
    char *stamp = memmem(content, (size_t)(line_end - content), "\"t_ns\":\"", 8);
    if (stamp) token(p, stamp + 8, now);
  }
  p->kept_length = (size_t)(end - line) < KEPT_BYTES ? (size_t)(end - line) : KEPT_BYTES;
  memcpy(p->kept, line, p->kept_length);
  // After the marker come the rest of its event, and the last chunk.
  if (p->marker_seen && end - buffer >= 5 && !memcmp(end - 5, "0\r\n\r\n", 5)) complete(p);
}

static int by_value(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

static void print_values(const char *name, values *v) {
  qsort(v->items, v->count, sizeof *v->items, by_value);
  printf(",\"%s_ms\":", name);
  if (!v->count) {
    printf("null");
    return;
  }
  static const double quantiles[] = {0.5, 0.9, 0.99, 1};
  static const char *names[] = {"p50", "p90", "p99", "max"};
  for (int i = 0; i < 4; i++)
    printf("%s\"%s\":%.3f", i ? "," : "{", names[i], v->items[(size_t)(quantiles[i] * (double)(v->count - 1) + 0.5)] / 1000.0);
  printf("}");
}

int main(int count, char **words) {
  if (count != 5) return 64;
  long places = atol(words[3]);
  total = atol(words[4]);
  if (places > total) places = total;
  if (places < 1) return 64;
  struct rlimit descriptors;
  getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  setrlimit(RLIMIT_NOFILE, &descriptors);
  address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[2]))};
  if (inet_pton(AF_INET, words[1], &address.sin_addr) != 1) return 64;
  static const char body[] = "{\"model\":\"mock-1\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}";
  request_length = (size_t)snprintf(request, sizeof request,
                                    "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                                    "Content-Length: %zu\r\n\r\n%s",
                                    words[1], sizeof body - 1, body);

  events_queue = epoll_create1(EPOLL_CLOEXEC);
  place *all = calloc((size_t)places, sizeof *all);
  uint64_t begun = now_ns();
  for (long i = 0; i < places; i++) start(all + i);
  static struct epoll_event ready[512];
  while (live) {
    int got = epoll_wait(events_queue, ready, 512, SILENCE_MS);
    if (got <= 0) break;
    for (int i = 0; i < got; i++) {
      place *p = ready[i].data.ptr;
      if (p->connecting) {
        if (ready[i].events & (EPOLLERR | EPOLLHUP)) {
          fail(p);
          continue;
        }
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = p};
        epoll_ctl(events_queue, EPOLL_CTL_MOD, p->descriptor, &event);
        send_request(p);
        continue;
      }
      receive(p);
    }
  }
  double duration = (double)(now_ns() - begun) / 1e9;
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  failed = total - completed;
  printf("{\"completed\":%ld,\"failed\":%ld,\"tokens\":%zu,\"events\":%llu,\"reads\":%llu,\"duration_s\":%.3f,\"user_s\":%.6f,\"system_s\":%.6f", completed,
         failed, ttft.count + itl.count, (unsigned long long)data_events, (unsigned long long)reads, duration,
         (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec / 1e6,
         (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec / 1e6);
  print_values("ttft", &ttft);
  print_values("ttft_connecting", &ttft_connecting);
  print_values("itl", &itl);
  print_values("delivery", &delivery);
  print_values("stamp_ttft", &stamp_ttft);
  print_values("stamp_itl", &stamp_itl);
  print_values("ttft_error", &ttft_error);
  print_values("itl_error", &itl_error);
  printf("}\n");
  return failed ? 1 : 0;
}
