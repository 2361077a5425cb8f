// See the header.
#include "CSimdjson.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace {

/// Texts above this give their memory back afterwards.
constexpr size_t kept_capacity = 1 << 20;

bool is_blank(uint8_t c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

/// Grammar of RFC 8259, section 6.
bool is_number(const uint8_t *p, const uint8_t *end) {
  if (p < end && *p == '-') p++;
  if (p == end || !is_digit(*p)) return false;
  if (*p == '0') {
    p++;
  } else {
    while (p < end && is_digit(*p)) p++;
  }
  if (p < end && *p == '.') {
    if (++p == end || !is_digit(*p)) return false;
    while (p < end && is_digit(*p)) p++;
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    p++;
    if (p < end && (*p == '+' || *p == '-')) p++;
    if (p == end || !is_digit(*p)) return false;
    while (p < end && is_digit(*p)) p++;
  }
  return p == end;
}

int hex(uint8_t c) {
  if (is_digit(c)) return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Four hexadecimal digits, or -1.
int32_t hex4(const uint8_t *p) {
  int a = hex(p[0]), b = hex(p[1]), c = hex(p[2]), d = hex(p[3]);
  return (a | b | c | d) < 0 ? -1 : a << 12 | b << 8 | c << 4 | d;
}

/// Known keys by a hash of length and first eight bytes, with a factor that makes all of them differ.
class KeyTable {
  struct Entry {
    uint64_t head = 0;
    const uint8_t *rest = nullptr;
    uint32_t length = 0;
    uint8_t key = 0;
  };
  std::array<Entry, 512> entries;
  uint64_t factor = 0x9e3779b97f4a7c15u;
  std::string names;

  size_t slot(uint64_t head, size_t length) const { return (head ^ length) * factor >> 55; }

 public:
  KeyTable(const char *list, size_t count) {
    const char *end = list;
    for (size_t i = 0; i < count; i++) end += strlen(end) + 1;
    names.assign(list, end);
    for (bool placed = false; !placed; factor = factor * 0xd1342543de82ef95u | 1) {
      entries.fill(Entry());
      placed = true;
      const char *name = names.data();
      for (size_t i = 0; i < count && placed; i++) {
        size_t length = strlen(name);
        uint64_t head = 0;
        memcpy(&head, name, std::min<size_t>(length, 8));
        Entry &entry = entries[slot(head, length)];
        placed = entry.key == 0;
        entry = {head, reinterpret_cast<const uint8_t *>(name) + 8, static_cast<uint32_t>(length), static_cast<uint8_t>(i + 1)};
        name += length + 1;
      }
      if (placed) break;
    }
  }
  KeyTable(const KeyTable &) = delete;

  /// `room` bytes may be read at `p`.
  uint8_t find(const uint8_t *p, size_t length, size_t room) const {
    uint64_t head = 0;
    if (room >= 8) {
      memcpy(&head, p, 8);
      if (length < 8) head &= (uint64_t(1) << (8 * length)) - 1;
    } else {
      memcpy(&head, p, std::min<size_t>(length, room));
    }
    const Entry &entry = entries[slot(head, length)];
    if (entry.head != head || entry.length != length) return 0;
    if (length > 8 && !CSimdjson_equal(p + 8, entry.rest, length - 8)) return 0;
    return entry.key;
  }
};

}  // namespace

struct CSimdjson_Reader {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> implementation;
  CSimdjson_Node *nodes = nullptr;
  size_t node_capacity = 0;
  size_t capacity = 0;
  KeyTable keys;

  CSimdjson_Reader(const char *names, size_t count) : keys(names, count) {}
  ~CSimdjson_Reader() { free(nodes); }

  bool prepare(size_t count) {
    if (count > capacity || (capacity > kept_capacity && count < kept_capacity / 16)) {
      size_t wanted = 4096;
      while (wanted < count) wanted *= 2;
      implementation.reset();
      capacity = 0;
      if (simdjson::get_active_implementation()->create_dom_parser_implementation(wanted, 1, implementation)) return false;
      capacity = wanted;
      if (node_capacity > kept_capacity) {
        free(nodes);
        nodes = nullptr;
        node_capacity = 0;
      }
    }
    return true;
  }

  bool reserve(size_t wanted) {
    if (wanted <= node_capacity) return true;
    size_t rounded = 256;
    while (rounded < wanted) rounded *= 2;
    free(nodes);
    nodes = static_cast<CSimdjson_Node *>(malloc(rounded * sizeof(CSimdjson_Node)));
    node_capacity = nodes ? rounded : 0;
    return nodes != nullptr;
  }

  /// A key with escapes.
  uint8_t find_escaped(const uint8_t *p, size_t length) const {
    // No known key is as long, even when each byte is written as an escape.
    if (length > 6 * 64) return 0;
    std::string text(length, 0);
    size_t count = CSimdjson_unescape(p, length, reinterpret_cast<uint8_t *>(&text[0]));
    return keys.find(reinterpret_cast<const uint8_t *>(text.data()), count, count);
  }

  int32_t walk(const uint8_t *bytes, size_t count) {
    const uint32_t *index = implementation->structural_indexes.get();
    const uint32_t *const last = index + implementation->n_structural_indexes;
    if (!reserve(implementation->n_structural_indexes + 1)) return CSimdjson_invalid;
    const bool any_escape = memchr(bytes, '\\', count) != nullptr;
    CSimdjson_Node *const nodes = this->nodes;
    CSimdjson_Node *node = nodes;
    uint32_t open[CSIMDJSON_DEPTH];
    int depth = 0;
    bool in_object = false;
    uint32_t start, end;

    // Behind the text at *index: the next structure, less white space. The list ends with `count`.
#define TEXT_END                                            \
  end = index + 1 < last ? index[1] : (uint32_t)count;      \
  while (end > start + 1 && is_blank(bytes[end - 1])) end--

    // The first node has no key; a member's is written before its value.
    node->key_start = node->key_end = 0;
    node->key = 0;
    node->key_escaped = false;

  value:
    if (index == last) return CSimdjson_invalid;
    start = *index;
    switch (bytes[start]) {
    case '"':
      TEXT_END;
      if (end < start + 2 || bytes[end - 1] != '"') return CSimdjson_invalid;
      node->start = start + 1;
      node->end = end - 1;
      node->kind = '"';
      node->escaped = false;
      if (any_escape) {
        node->escaped = memchr(bytes + start, '\\', end - start) != nullptr;
        if (node->escaped && !CSimdjson_has_valid_escapes(bytes + start + 1, end - start - 2)) return CSimdjson_invalid;
      }
      break;
    case '{':
    case '[':
      if (depth == CSIMDJSON_DEPTH) return CSimdjson_too_deep;
      open[depth++] = static_cast<uint32_t>(node - nodes);
      node->start = start;
      node->kind = bytes[start];
      node->escaped = false;
      in_object = node->kind == '{';
      node++;
      if (++index == last) return CSimdjson_invalid;
      if (bytes[*index] == (in_object ? '}' : ']')) goto close;
      goto member;
    case 't':
    case 'f':
    case 'n': {
      TEXT_END;
      const uint8_t *word = bytes + start;
      bool known = false;
      if (end - start == 4) known = memcmp(word, "true", 4) == 0 || memcmp(word, "null", 4) == 0;
      if (end - start == 5) known = memcmp(word, "false", 5) == 0;
      if (!known) return CSimdjson_invalid;
      node->start = start;
      node->end = end;
      node->kind = *word;
      node->escaped = false;
      break;
    }
    default:
      TEXT_END;
      if (!is_number(bytes + start, bytes + end)) return CSimdjson_invalid;
      node->start = start;
      node->end = end;
      node->kind = '0';
      node->escaped = false;
    }
    node++;
    node[-1].next = static_cast<uint32_t>(node - nodes);
    index++;

  after:
    if (depth == 0) return index == last ? static_cast<int32_t>(node - nodes) : CSimdjson_invalid;
    if (index == last) return CSimdjson_invalid;
    if (bytes[*index] == ',') {
      if (++index == last) return CSimdjson_invalid;
    member:
      if (!in_object) {
        node->key_start = node->key_end = 0;
        node->key = 0;
        node->key_escaped = false;
        goto value;
      }
      start = *index;
      if (bytes[start] != '"') return CSimdjson_invalid;
      TEXT_END;
      if (end < start + 2 || bytes[end - 1] != '"') return CSimdjson_invalid;
      node->key_start = start + 1;
      node->key_end = end - 1;
      node->key_escaped = false;
      if (any_escape && memchr(bytes + start, '\\', end - start)) {
        if (!CSimdjson_has_valid_escapes(bytes + start + 1, end - start - 2)) return CSimdjson_invalid;
        node->key_escaped = true;
        node->key = find_escaped(bytes + start + 1, end - start - 2);
      } else {
        node->key = keys.find(bytes + start + 1, end - start - 2, count - start - 1);
      }
      if (++index == last || bytes[*index] != ':') return CSimdjson_invalid;
      index++;
      goto value;
    }
    if (bytes[*index] != (in_object ? '}' : ']')) return CSimdjson_invalid;
  close:
    depth--;
    nodes[open[depth]].end = *index + 1;
    nodes[open[depth]].next = static_cast<uint32_t>(node - nodes);
    in_object = depth > 0 && nodes[open[depth - 1]].kind == '{';
    index++;
    goto after;
#undef TEXT_END
  }
};

CSimdjson_Reader *CSimdjson_create(const char *names, size_t count) {
  auto *reader = new (std::nothrow) CSimdjson_Reader(names, count);
  if (!reader) abort();
  return reader;
}

void CSimdjson_destroy(CSimdjson_Reader *reader) { delete reader; }

int32_t CSimdjson_read(CSimdjson_Reader *reader, const uint8_t *bytes, size_t count, const CSimdjson_Node **nodes) {
  if (count == 0 || count > INT32_MAX || !reader->prepare(count)) return CSimdjson_invalid;
  reader->implementation->n_structural_indexes = 0;
  switch (reader->implementation->stage1(bytes, count, simdjson::stage1_mode::regular)) {
  case simdjson::SUCCESS: break;
  case simdjson::UTF8_ERROR: return CSimdjson_not_utf8;
  default: return CSimdjson_is_utf8(bytes, count) ? CSimdjson_invalid : CSimdjson_not_utf8;
  }
  int32_t found = reader->walk(bytes, count);
  *nodes = reader->nodes;
  return found;
}

bool CSimdjson_has_valid_escapes(const uint8_t *p, size_t count) {
  const uint8_t *end = p + count;
  while ((p = static_cast<const uint8_t *>(memchr(p, '\\', static_cast<size_t>(end - p))))) {
    if (++p == end) return false;
    switch (*p++) {
    case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't': break;
    case 'u':
      if (end - p < 4 || hex4(p) < 0) return false;
      p += 4;
      break;
    default: return false;
    }
    if (p == end) break;
  }
  return true;
}

size_t CSimdjson_unescape(const uint8_t *p, size_t count, uint8_t *out) {
  const uint8_t *end = p + count;
  uint8_t *o = out;
  while (p < end) {
    uint8_t c = *p++;
    if (c != '\\' || p == end) {
      *o++ = c;
      continue;
    }
    switch (c = *p++) {
    case 'b': *o++ = 8; break;
    case 'f': *o++ = 12; break;
    case 'n': *o++ = 10; break;
    case 'r': *o++ = 13; break;
    case 't': *o++ = 9; break;
    case 'u': {
      if (end - p < 4) break;
      int32_t code = hex4(p);
      p += 4;
      if ((code & 0xFC00) == 0xD800 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
        int32_t low = hex4(p + 2);
        if ((low & 0xFC00) == 0xDC00) {
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
          p += 6;
        }
      }
      if (code < 0 || (code & 0xFFFFF800) == 0xD800) code = 0xFFFD;
      if (code < 0x80) {
        *o++ = static_cast<uint8_t>(code);
      } else if (code < 0x800) {
        *o++ = static_cast<uint8_t>(0xC0 | code >> 6);
        *o++ = static_cast<uint8_t>(0x80 | (code & 63));
      } else if (code < 0x10000) {
        *o++ = static_cast<uint8_t>(0xE0 | code >> 12);
        *o++ = static_cast<uint8_t>(0x80 | (code >> 6 & 63));
        *o++ = static_cast<uint8_t>(0x80 | (code & 63));
      } else {
        *o++ = static_cast<uint8_t>(0xF0 | code >> 18);
        *o++ = static_cast<uint8_t>(0x80 | (code >> 12 & 63));
        *o++ = static_cast<uint8_t>(0x80 | (code >> 6 & 63));
        *o++ = static_cast<uint8_t>(0x80 | (code & 63));
      }
      break;
    }
    default: *o++ = c;
    }
  }
  return static_cast<size_t>(o - out);
}

bool CSimdjson_is_utf8(const uint8_t *bytes, size_t count) {
  return simdjson::validate_utf8(reinterpret_cast<const char *>(bytes), count);
}

const char *CSimdjson_implementation(void) {
  static const std::string name = simdjson::get_active_implementation()->name();
  return name.c_str();
}
