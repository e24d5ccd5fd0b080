// The system's LMDB (0.9.24 or later of the 0.9 series). Swift imports every macro that is used, so nothing is wrapped.
#ifndef HABITSTORE_CLMDB_H
#define HABITSTORE_CLMDB_H

#include <lmdb.h>

#endif
