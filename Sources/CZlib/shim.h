#ifndef CZLIB_SHIM_H
#define CZLIB_SHIM_H

#include <zlib.h>

// inflateInit2 is a macro with a cast in it, which Swift does not import.
static inline int czlib_inflate_init(z_stream *stream, int windowBits) { return inflateInit2(stream, windowBits); }

// deflateInit2 is one too.
static inline int czlib_deflate_init(z_stream *stream, int windowBits) {
    return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY);
}

#endif
