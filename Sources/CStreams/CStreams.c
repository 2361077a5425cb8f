#include "CStreams.h"
