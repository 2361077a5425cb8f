// The reference server of the side by side: every client is measured against it, and it shares no line with ssebench's
// mock. In: OpenAI chat requests. Out: paced or unpaced token streams, counts at /stats, and on request a log of the
// instant of every send. One thread; it knows one pace for all streams.
//
//   gcc -O2 -o refserver refserver.c
//   refserver [-p PORT] [-n TOKENS] [-f FIRST_MS] [-i INTERVAL_MS] [-c EVENTS_PER_WRITE] [-l LOG]
//
// -p 0 takes a free port. The first line on stdout says where it listens. -i 0 is unpaced: each stream sends up to 64 KiB
// in its turn. SIGTERM ends it; only then the log is written, one line a stream:
//
//   accepted_ns,requested_ns,complete,sent_ns,sent_ns,…       (CLOCK_MONOTONIC; newest stream first)
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  TURN_BYTES = 65536,         // what an unpaced stream may send before the next one's turn
  TICK_NS = 250000,           // wake-ups for paced events fall on multiples of this, so that neighbours share one
  BACKLOG_BYTES = 262144,     // a reader this far behind gets no more until it has read
  REQUEST_BYTES = 1 << 20,    // longest request
  CHUNK_ROOM = 16,            // before a chunk's events, for its length
};

typedef struct stream_log {
  struct stream_log *next;
  uint64_t accepted, requested;
  bool complete;
  uint32_t sent_count;
  uint64_t sent[];
} stream_log;

typedef struct connection {
  int descriptor;
  bool streaming, keep_alive, closing, wants_usage, waits_to_write, in_turn, dead;
  uint32_t left, number;
  uint64_t accepted, due;
  struct connection *next_due, *previous_due;
  struct due_queue *queue;
  struct connection *next_dead;
  char *input, *output;
  size_t input_length, input_capacity, output_offset, output_length, output_capacity;
  stream_log *log;
} connection;

// Every stream has the same first delay and the same interval, so two plain queues are always in order of time.
typedef struct due_queue {
  connection *first, *last;
} due_queue;

static uint32_t tokens = 128, events_per_write = 1;
static uint64_t first_ns = 0, interval_ns = 0;
static const char *log_path;
static int events_queue;
static due_queue first_tokens, later_tokens;
static connection **turns, **turns_now;  // unpaced streams that can send
static size_t turn_count, turn_capacity;
static connection *dead;
static stream_log *logs;
static volatile sig_atomic_t ended;

static uint64_t events_sent, writes, bytes_sent, accepted, active, most_active, streams, requests;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void end(int number) {
  (void)number;
  ended = 1;
}

static void *grown(void *block, size_t size) {
  void *larger = realloc(block, size);
  if (!larger) {
    fputs("refserver: out of memory\n", stderr);
    exit(70);
  }
  return larger;
}

// ---- Queues

static void queue_add(due_queue *queue, connection *c) {
  c->queue = queue;
  c->next_due = NULL;
  c->previous_due = queue->last;
  if (queue->last) queue->last->next_due = c;
  else queue->first = c;
  queue->last = c;
}

static void queue_remove(connection *c) {
  due_queue *queue = c->queue;
  if (!queue) return;
  if (c->previous_due) c->previous_due->next_due = c->next_due;
  else queue->first = c->next_due;
  if (c->next_due) c->next_due->previous_due = c->previous_due;
  else queue->last = c->previous_due;
  c->queue = NULL;
}

static connection *next_due(void) {
  connection *a = first_tokens.first, *b = later_tokens.first;
  if (!a || !b) return a ? a : b;
  return a->due <= b->due ? a : b;
}

static void turn_add(connection *c) {
  if (c->in_turn) return;
  if (turn_count == turn_capacity) {
    turn_capacity = turn_capacity ? turn_capacity * 2 : 1024;
    turns = grown(turns, turn_capacity * sizeof *turns);
    turns_now = grown(turns_now, turn_capacity * sizeof *turns_now);
  }
  c->in_turn = true;
  turns[turn_count++] = c;
}

// ---- Connections

// Closed at once, freed after the round: events and turns of this round may still name it.
static void drop(connection *c) {
  if (c->dead) return;
  c->dead = true;
  queue_remove(c);
  close(c->descriptor);
  active--;
  c->next_dead = dead;
  dead = c;
}

static void free_dead(void) {
  connection *kept = NULL;
  while (dead) {
    connection *c = dead;
    dead = c->next_dead;
    if (c->in_turn) {
      c->next_dead = kept, kept = c;
      continue;
    }
    free(c->input);
    free(c->output);
    free(c);
  }
  dead = kept;
}

static void watch(connection *c, bool writing) {
  c->waits_to_write = writing;
  struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | (writing ? EPOLLOUT : 0), .data.ptr = c};
  epoll_ctl(events_queue, EPOLL_CTL_MOD, c->descriptor, &event);
}

static size_t unsent(const connection *c) { return c->output_length - c->output_offset; }

static void send_bytes(connection *c, const char *bytes, size_t count) {
  if (c->dead) return;
  size_t taken = 0;
  if (!unsent(c)) {
    c->output_offset = c->output_length = 0;
    ssize_t result = send(c->descriptor, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    writes++;
    if (result < 0 && errno != EAGAIN) {
      drop(c);
      return;
    }
    taken = result < 0 ? 0 : (size_t)result;
    bytes_sent += taken;
    if (taken == count) return;
  }
  size_t needed = c->output_length + count - taken;
  if (needed > c->output_capacity) c->output = grown(c->output, c->output_capacity = needed * 2);
  memcpy(c->output + c->output_length, bytes + taken, count - taken);
  c->output_length = needed;
  if (!c->waits_to_write) watch(c, true);
}

static void flush(connection *c) {
  while (unsent(c)) {
    ssize_t result = send(c->descriptor, c->output + c->output_offset, unsent(c), MSG_NOSIGNAL | MSG_DONTWAIT);
    writes++;
    if (result < 0) {
      if (errno != EAGAIN) drop(c);
      return;
    }
    bytes_sent += (uint64_t)result;
    c->output_offset += (size_t)result;
  }
  free(c->output);
  c->output = NULL;
  c->output_capacity = c->output_offset = c->output_length = 0;
  watch(c, false);
}

// ---- Events

#define CHUNK_HEAD "data: {\"id\":\"chatcmpl-0123456789abcd\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"mock-1\","
// The stamp is a string: a number with leading zeros is not JSON, and strict parsers would refuse every event.
#define TOKEN_EVENT \
  CHUNK_HEAD "\"choices\":[{\"index\":0,\"delta\":{\"content\":\" tok000000\"},\"finish_reason\":null}],\"t_ns\":\"0000000000000000\"}\n\n"
#define FINISH_EVENT CHUNK_HEAD "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
static const size_t token_length = sizeof TOKEN_EVENT - 1;
static size_t number_offset, stamp_offset;

static void put_decimal(char *at, uint64_t value, int width) {
  for (int i = width - 1; i >= 0; i--) at[i] = (char)('0' + value % 10), value /= 10;
}

static char buffer[1 << 20];

static void process_input(connection *c);

// Sends the next write's events. The stamp is taken right before.
static void send_events(connection *c) {
  char *body = buffer + CHUNK_ROOM;
  size_t length = 0;
  uint32_t count = c->left < events_per_write ? c->left : events_per_write;
  uint64_t now = now_ns();
  for (uint32_t i = 0; i < count; i++) {
    memcpy(body + length, TOKEN_EVENT, token_length);
    put_decimal(body + length + number_offset, c->number++, 6);
    put_decimal(body + length + stamp_offset, now, 16);
    length += token_length;
    if (c->log) c->log->sent[c->log->sent_count++] = now;
  }
  c->left -= count;
  events_sent += count;
  if (!c->left) {
    length += (size_t)sprintf(body + length, FINISH_EVENT);
    if (c->wants_usage)
      length += (size_t)sprintf(body + length,
                                CHUNK_HEAD "\"choices\":[],\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":%u,\"total_tokens\":%u}}\n\n",
                                c->number, c->number + 8);
    length += (size_t)sprintf(body + length, "data: [DONE]\n\n");
  }
  char size[CHUNK_ROOM];
  int digits = sprintf(size, "%zx\r\n", length);
  memcpy(body - digits, size, (size_t)digits);
  memcpy(body + length, "\r\n0\r\n\r\n", 7);
  send_bytes(c, body - digits, (size_t)digits + length + (c->left ? 2 : 7));
}

static void end_stream(connection *c) {
  c->streaming = false;
  streams++;
  if (c->log) c->log->complete = true, c->log = NULL;
  if (!c->keep_alive) c->closing = true;
  if (c->closing && !unsent(c)) drop(c);
  else process_input(c);
}

static void take_turn(connection *c) {
  size_t sent = 0;
  while (c->streaming && !c->dead && !unsent(c) && sent < TURN_BYTES) {
    send_events(c);
    sent += token_length * events_per_write;
    if (!c->left && !c->dead) end_stream(c);
  }
  if (!c->dead && c->streaming && !unsent(c)) turn_add(c);
}

static void send_due(uint64_t now) {
  for (connection *c; (c = next_due()) && c->due <= now;) {
    queue_remove(c);
    if (!interval_ns) {
      turn_add(c);
      continue;
    }
    if (unsent(c) < BACKLOG_BYTES) send_events(c);
    if (c->dead) continue;
    if (!c->left) {
      end_stream(c);
      continue;
    }
    c->due += interval_ns;
    queue_add(&later_tokens, c);
  }
}

// ---- Requests

static void answer(connection *c, const char *status, const char *type, const char *body) {
  char head[256];
  int length = snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: %s\r\n\r\n", status,
                        type, strlen(body), c->keep_alive ? "keep-alive" : "close");
  send_bytes(c, head, (size_t)length);
  send_bytes(c, body, strlen(body));
  if (!c->keep_alive) c->closing = true;
}

static void answer_stats(connection *c) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  char body[512];
  snprintf(body, sizeof body,
           "{\"events\":%" PRIu64 ",\"writes\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"accepted\":%" PRIu64 ",\"active\":%" PRIu64
           ",\"most_active\":%" PRIu64 ",\"streams\":%" PRIu64 ",\"requests\":%" PRIu64 ",\"cpu_s\":%.6f,\"peak_rss_bytes\":%ld}\n",
           events_sent, writes, bytes_sent, accepted, active, most_active, streams, requests,
           (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
           used.ru_maxrss * 1024);
  answer(c, "200 OK", "application/json", body);
}

static const char *header(const char *head, const char *head_end, const char *name) {
  size_t length = strlen(name);
  for (const char *line = head; line < head_end;) {
    const char *line_end = memmem(line, (size_t)(head_end - line), "\r\n", 2);
    if (!line_end) break;
    if ((size_t)(line_end - line) > length && line[length] == ':' && !strncasecmp(line, name, length)) {
      const char *value = line + length + 1;
      while (*value == ' ') value++;
      return value;
    }
    line = line_end + 2;
  }
  return NULL;
}

// Whether the body says `"key": true`, with or without the blank.
static bool says_true(const char *body, size_t length, const char *key) {
  const char *at = memmem(body, length, key, strlen(key));
  if (!at) return false;
  at += strlen(key);
  while (at < body + length && (*at == ' ' || *at == ':')) at++;
  return (size_t)(body + length - at) >= 4 && !memcmp(at, "true", 4);
}

static void start_stream(connection *c) {
  static const char *format = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
                              "Connection: %s\r\nTransfer-Encoding: chunked\r\n\r\n";
  uint64_t now = now_ns();
  char head[256];
  send_bytes(c, head, (size_t)snprintf(head, sizeof head, format, c->keep_alive ? "keep-alive" : "close"));
  if (c->dead) return;
  c->streaming = true;
  c->left = tokens;
  c->number = 0;
  if (log_path) {
    c->log = grown(NULL, sizeof *c->log + tokens * sizeof c->log->sent[0]);
    *c->log = (stream_log){.next = logs, .accepted = c->accepted, .requested = now};
    logs = c->log;
  }
  if (first_ns || interval_ns) {
    c->due = now + first_ns;
    queue_add(&first_tokens, c);
  } else {
    turn_add(c);
  }
}

static bool path_is(const char *path, const char *name) {
  size_t length = strlen(name);
  return !strncmp(path, name, length) && (path[length] == ' ' || path[length] == '?');
}

static void handle(connection *c, const char *head, const char *body, size_t body_length) {
  requests++;
  const char *value = header(head, body, "connection"), *line_end = strstr(head, "\r\n");
  c->keep_alive = !memmem(head, (size_t)(line_end - head), "HTTP/1.0", 8) && !(value && !strncasecmp(value, "close", 5));
  const char *path = strchr(head, ' ');
  path = path && path < line_end ? path + 1 : head;
  if (path_is(path, "/v1/chat/completions") || path_is(path, "/v1/completions")) {
    if (!says_true(body, body_length, "\"stream\"")) {
      answer(c, "200 OK", "application/json",
             "{\"id\":\"chatcmpl-0\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"mock-1\",\"choices\":[{\"index\":0,"
             "\"message\":{\"role\":\"assistant\",\"content\":\"hello\"},\"finish_reason\":\"stop\"}],"
             "\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":1,\"total_tokens\":9}}");
      return;
    }
    c->wants_usage = says_true(body, body_length, "\"include_usage\"");
    start_stream(c);
  } else if (path_is(path, "/v1/models")) {
    answer(c, "200 OK", "application/json",
           "{\"object\":\"list\",\"data\":[{\"id\":\"mock-1\",\"object\":\"model\",\"created\":1700000000,\"owned_by\":\"refserver\"}]}");
  } else if (path_is(path, "/stats")) {
    answer_stats(c);
  } else if (path_is(path, "/health") || path_is(path, "/")) {
    answer(c, "200 OK", "text/plain", "ok\n");
  } else {
    answer(c, "404 Not Found", "text/plain", "not found\n");
  }
}

static void process_input(connection *c) {
  while (!c->dead && !c->streaming && !c->closing && c->input_length) {
    char *head_end = memmem(c->input, c->input_length, "\r\n\r\n", 4);
    if (!head_end) break;
    const char *body = head_end + 4, *value = header(c->input, body, "content-length");
    size_t body_length = value ? strtoull(value, NULL, 10) : 0;
    if (body_length > REQUEST_BYTES) {
      drop(c);
      return;
    }
    size_t come = c->input_length - (size_t)(body - c->input);
    if (come < body_length) {
      if (!come && header(c->input, body, "expect")) send_bytes(c, "HTTP/1.1 100 Continue\r\n\r\n", 25);
      return;
    }
    size_t used = (size_t)(body - c->input) + body_length;
    handle(c, c->input, body, body_length);
    c->input_length -= used;
    memmove(c->input, c->input + used, c->input_length);
    if (!c->input_length) {
      // Thousands of waiting streams need no request buffer.
      free(c->input);
      c->input = NULL;
      c->input_capacity = 0;
    }
  }
  if (c->closing && !c->dead && !unsent(c)) drop(c);
}

static void read_input(connection *c) {
  static char bytes[65536];
  ssize_t count = recv(c->descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0 || c->input_length + (size_t)count > REQUEST_BYTES) {
    drop(c);
    return;
  }
  // One more for a zero: the head is read as a string.
  if (c->input_length + (size_t)count + 1 > c->input_capacity)
    c->input = grown(c->input, c->input_capacity = c->input_length + (size_t)count + 1);
  memcpy(c->input + c->input_length, bytes, (size_t)count);
  c->input_length += (size_t)count;
  c->input[c->input_length] = 0;
  if (!c->streaming) process_input(c);
}

static void accept_some(int listener) {
  for (int i = 0; i < 256; i++) {
    int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) return;
    connection *c = grown(NULL, sizeof *c);
    *c = (connection){.descriptor = descriptor, .accepted = now_ns()};
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = c};
    epoll_ctl(events_queue, EPOLL_CTL_ADD, descriptor, &event);
    accepted++;
    if (++active > most_active) most_active = active;
  }
}

// ---- Main

static void write_log(void) {
  FILE *file = fopen(log_path, "w");
  if (!file) {
    perror("refserver: log");
    exit(73);
  }
  for (stream_log *log = logs; log; log = log->next) {
    fprintf(file, "%" PRIu64 ",%" PRIu64 ",%d", log->accepted, log->requested, log->complete);
    for (uint32_t i = 0; i < log->sent_count; i++) fprintf(file, ",%" PRIu64, log->sent[i]);
    fputc('\n', file);
  }
  if (fclose(file)) exit(74);
}

static void serve(int listener) {
  static struct epoll_event ready[1024];
  while (!ended) {
    struct timespec wait = {0}, *limit = &wait;
    connection *c = next_due();
    if (!turn_count && c) {
      uint64_t now = now_ns(), wake = (c->due + TICK_NS - 1) / TICK_NS * TICK_NS;
      uint64_t rest = wake > now ? wake - now : 0;
      wait = (struct timespec){.tv_sec = (time_t)(rest / 1000000000u), .tv_nsec = (long)(rest % 1000000000u)};
    } else if (!turn_count) {
      limit = NULL;
    }
    int count = epoll_pwait2(events_queue, ready, 1024, limit, NULL);
    for (int i = 0; i < count; i++) {
      c = ready[i].data.ptr;
      if (!c) {
        accept_some(listener);
        continue;
      }
      if (c->dead) continue;
      if (ready[i].events & (EPOLLERR | EPOLLHUP)) {
        drop(c);
        continue;
      }
      if (ready[i].events & (EPOLLIN | EPOLLRDHUP)) read_input(c);
      if (!c->dead && ready[i].events & EPOLLOUT) {
        flush(c);
        if (c->dead || unsent(c)) continue;
        if (c->streaming && !interval_ns && !c->queue) turn_add(c);
        else if (!c->streaming) process_input(c);
      }
    }
    size_t in_turn = turn_count;
    memcpy(turns_now, turns, in_turn * sizeof *turns);
    turn_count = 0;
    for (size_t i = 0; i < in_turn; i++) {
      turns_now[i]->in_turn = false;
      if (!turns_now[i]->dead) take_turn(turns_now[i]);
    }
    send_due(now_ns());
    free_dead();
  }
}

int main(int count, char **words) {
  int port = 0;
  for (int option; (option = getopt(count, words, "p:n:f:i:c:l:")) != -1;) switch (option) {
      case 'p': port = atoi(optarg); break;
      case 'n': tokens = (uint32_t)strtoul(optarg, NULL, 10); break;
      case 'f': first_ns = (uint64_t)(atof(optarg) * 1e6); break;
      case 'i': interval_ns = (uint64_t)(atof(optarg) * 1e6); break;
      case 'c': events_per_write = (uint32_t)strtoul(optarg, NULL, 10); break;
      case 'l': log_path = optarg; break;
      default: return 64;
    }
  if (!tokens || tokens > 999999 || !events_per_write || events_per_write > 4096) return 64;
  number_offset = (size_t)(strstr(TOKEN_EVENT, " tok") + 4 - TOKEN_EVENT);
  stamp_offset = (size_t)(strstr(TOKEN_EVENT, "\"t_ns\":\"") + 8 - TOKEN_EVENT);
  turns = grown(NULL, (turn_capacity = 1024) * sizeof *turns);
  turns_now = grown(NULL, turn_capacity * sizeof *turns_now);

  struct sigaction action = {.sa_handler = end};
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  struct rlimit descriptors;
  getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  setrlimit(RLIMIT_NOFILE, &descriptors);

  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);  // accepted sockets inherit it
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (bind(listener, (void *)&address, sizeof address) || listen(listener, 65535) ||
      getsockname(listener, (void *)&address, &length)) {
    perror("refserver");
    return 73;
  }
  events_queue = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  epoll_ctl(events_queue, EPOLL_CTL_ADD, listener, &event);
  printf("{\"listening\":\"http://127.0.0.1:%d\"}\n", ntohs(address.sin_port));
  fflush(stdout);
  serve(listener);
  if (log_path) write_log();
  return 0;
}
