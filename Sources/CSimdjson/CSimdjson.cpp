// See the header.
#include "CSimdjson.h"

#include <simdjson.h>

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

}  // namespace

struct CSimdjson_Reader {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> implementation;
  CSimdjson_Node *nodes = nullptr;
  size_t node_capacity = 0;
  size_t capacity = 0;

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

  int32_t walk(const uint8_t *bytes, size_t count) {
    const uint32_t *index = implementation->structural_indexes.get();
    const uint32_t *last = index + implementation->n_structural_indexes;
    if (!reserve(implementation->n_structural_indexes + 1)) return CSimdjson_invalid;
    const bool any_escape = memchr(bytes, '\\', count) != nullptr;
    CSimdjson_Node *node = nodes;
    uint32_t open[CSIMDJSON_DEPTH];
    int depth = 0;

    // Where the text of a scalar that begins at *index ends: the next structure, less white space.
    auto scalar_end = [&]() {
      size_t end = index + 1 < last ? index[1] : count;
      while (end > *index + 1 && is_blank(bytes[end - 1])) end--;
      return static_cast<uint32_t>(end);
    };
    auto string = [&]() {
      if (index == last || bytes[*index] != '"') return false;
      uint32_t end = scalar_end();
      if (end < *index + 2 || bytes[end - 1] != '"') return false;
      CSimdjson_Node &n = *node;
      n.start = *index + 1;
      n.end = end - 1;
      n.kind = '"';
      n.escaped = any_escape && memchr(bytes + n.start, '\\', n.end - n.start) != nullptr;
      if (n.escaped && !CSimdjson_has_valid_escapes(bytes + n.start, n.end - n.start)) return false;
      node++;
      n.next = static_cast<uint32_t>(node - nodes);
      index++;
      return true;
    };

  value:
    if (index == last) return CSimdjson_invalid;
    {
      const uint8_t c = bytes[*index];
      switch (c) {
      case '"':
        if (!string()) return CSimdjson_invalid;
        break;
      case '{':
      case '[':
        if (depth == CSIMDJSON_DEPTH) return CSimdjson_too_deep;
        open[depth++] = static_cast<uint32_t>(node - nodes);
        node->start = *index;
        node->kind = c;
        node->escaped = false;
        node++;
        index++;
        if (index == last) return CSimdjson_invalid;
        if (bytes[*index] == (c == '{' ? '}' : ']')) goto close;
        if (c == '{') goto key;
        goto value;
      case 't':
      case 'f':
      case 'n': {
        const uint32_t end = scalar_end();
        const char *word = c == 't' ? "true" : c == 'f' ? "false" : "null";
        const size_t length = c == 'f' ? 5 : 4;
        if (end - *index != length || memcmp(bytes + *index, word, length) != 0) return CSimdjson_invalid;
        *node = {*index, end, static_cast<uint32_t>(node - nodes + 1), c, false};
        node++;
        index++;
        break;
      }
      default: {
        const uint32_t end = scalar_end();
        if (!is_number(bytes + *index, bytes + end)) return CSimdjson_invalid;
        *node = {*index, end, static_cast<uint32_t>(node - nodes + 1), '0', false};
        node++;
        index++;
      }
      }
    }
  after:
    if (depth == 0) return index == last ? static_cast<int32_t>(node - nodes) : CSimdjson_invalid;
    if (index == last) return CSimdjson_invalid;
    {
      const bool in_object = nodes[open[depth - 1]].kind == '{';
      const uint8_t c = bytes[*index];
      if (c == ',') {
        index++;
        if (in_object) goto key;
        goto value;
      }
      if (c != (in_object ? '}' : ']')) return CSimdjson_invalid;
    }
  close: {
    CSimdjson_Node &n = nodes[open[--depth]];
    n.end = *index + 1;
    n.next = static_cast<uint32_t>(node - nodes);
    index++;
    goto after;
  }
  key:
    if (!string()) return CSimdjson_invalid;
    if (index == last || bytes[*index] != ':') return CSimdjson_invalid;
    index++;
    goto value;
  }
};

CSimdjson_Reader *CSimdjson_create(void) {
  auto *reader = new (std::nothrow) CSimdjson_Reader;
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
