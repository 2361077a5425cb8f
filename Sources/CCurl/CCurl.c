#define _GNU_SOURCE
#include "CCurl.h"

#include <dlfcn.h>

int CCurl_tls_is_resumed(CURL *handle) {
  struct curl_tlssessioninfo *session = NULL;
  if (curl_easy_getinfo(handle, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || session == NULL) return -1;
  if (session->backend != CURLSSLBACKEND_OPENSSL || session->internals == NULL) return -1;
  // libcurl has loaded OpenSSL itself: no need to link it, nor to have its headers.
  int (*is_reused)(const void *) = (int (*)(const void *))dlsym(RTLD_DEFAULT, "SSL_session_reused");
  return is_reused == NULL ? -1 : is_reused(session->internals) != 0;
}
