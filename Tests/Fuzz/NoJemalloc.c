// The sanitizer has an allocator of its own; CPlatform then finds no jemalloc.
#include <stddef.h>
int mallctl(const char *name, void *old, size_t *old_size, void *new_value, size_t new_size) {
  (void)name, (void)old, (void)old_size, (void)new_value, (void)new_size;
  return 2;
}
