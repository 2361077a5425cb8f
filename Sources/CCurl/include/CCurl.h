// libcurl's variadic calls, one typed function for each kind of argument: Swift does not import variadics. Would go
// if curl offered typed setters.
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>
#include <stddef.h>

static inline CURLcode CCurl_setopt_long(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode CCurl_setopt_string(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode CCurl_setopt_pointer(CURL *handle, CURLoption option, void *value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode CCurl_setopt_offset(CURL *handle, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(handle, option, value);
}
typedef size_t (*CCurl_data_callback)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode CCurl_setopt_data_callback(CURL *handle, CURLoption option, CCurl_data_callback value) {
  return curl_easy_setopt(handle, option, value);
}
typedef int (*CCurl_prerequest_callback)(void *context, char *, char *, int, int);
static inline CURLcode CCurl_setopt_prerequest(CURL *handle, CCurl_prerequest_callback value) {
  return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, value);
}
static inline CURLcode CCurl_getinfo_long(CURL *handle, CURLINFO info, long *value) {
  return curl_easy_getinfo(handle, info, value);
}
static inline CURLcode CCurl_getinfo_offset(CURL *handle, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(handle, info, value);
}
static inline CURLcode CCurl_getinfo_string(CURL *handle, CURLINFO info, char **value) {
  return curl_easy_getinfo(handle, info, value);
}
static inline CURLcode CCurl_getinfo_pointer(CURL *handle, CURLINFO info, void **value) {
  return curl_easy_getinfo(handle, info, value);
}
static inline CURLcode CCurl_getinfo_socket(CURL *handle, CURLINFO info, curl_socket_t *value) {
  return curl_easy_getinfo(handle, info, value);
}
static inline CURLMcode CCurl_multi_setopt_long(CURLM *handle, CURLMoption option, long value) {
  return curl_multi_setopt(handle, option, value);
}
static inline CURLMcode CCurl_multi_setopt_pointer(CURLM *handle, CURLMoption option, void *value) {
  return curl_multi_setopt(handle, option, value);
}
typedef int (*CCurl_socket_callback)(CURL *easy, curl_socket_t socket, int what, void *context, void *socket_context);
static inline CURLMcode CCurl_multi_setopt_socket_callback(CURLM *handle, CCurl_socket_callback value) {
  return curl_multi_setopt(handle, CURLMOPT_SOCKETFUNCTION, value);
}
typedef int (*CCurl_timer_callback)(CURLM *multi, long timeout_ms, void *context);
static inline CURLMcode CCurl_multi_setopt_timer_callback(CURLM *handle, CCurl_timer_callback value) {
  return curl_multi_setopt(handle, CURLMOPT_TIMERFUNCTION, value);
}

/// Whether the TLS handshake of a transfer's connection took up an earlier session: 1 or 0; -1 where the TLS library is
/// not OpenSSL or there is no TLS. Only while the connection is there.
int CCurl_tls_is_resumed(CURL *handle);

/// What this libcurl is: CURLVERSION_NOW is a macro that Swift does not import. Never NULL.
static inline const curl_version_info_data *CCurl_version_info(void) {
  return curl_version_info(CURLVERSION_NOW);
}

/// The finished transfer of a message, its result, or NULL when there is none.
static inline CURL *CCurl_next_done(CURLM *handle, CURLcode *result) {
  int left;
  CURLMsg *message;
  while ((message = curl_multi_info_read(handle, &left)) != NULL)
    if (message->msg == CURLMSG_DONE) {
      *result = message->data.result;
      return message->easy_handle;
    }
  return NULL;
}

#endif
