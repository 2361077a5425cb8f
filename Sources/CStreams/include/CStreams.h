#ifndef CSTREAMS_H
#define CSTREAMS_H
#endif
