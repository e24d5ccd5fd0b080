// Does the same as SQLite's program dbhash: the SHA-1 of every row of every table, in the table's order. A value is hashed as a digit for its type
// and
// its bytes: "0"; "1" and the integer, "2" and the double, both as eight bytes, big-endian; "3", the length in decimal and ":", the text; "4"
// likewise,
// the blob.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/CYardstick.h"

typedef struct {
    uint32_t state[5];
    uint64_t length;
    uint8_t block[64];
} sha1;

static uint32_t rotated(uint32_t value, int bits) { return value << bits | value >> (32 - bits); }

static void sha1_block(sha1 *hash, const uint8_t *bytes) {
    uint32_t words[80];
    for (int i = 0; i < 16; i++) {
        words[i] = (uint32_t)bytes[4 * i] << 24 | (uint32_t)bytes[4 * i + 1] << 16 | (uint32_t)bytes[4 * i + 2] << 8
            | bytes[4 * i + 3];
    }
    for (int i = 16; i < 80; i++) words[i] = rotated(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    uint32_t a = hash->state[0], b = hash->state[1], c = hash->state[2], d = hash->state[3], e = hash->state[4];
    for (int i = 0; i < 80; i++) {
        uint32_t mixed, constant;
        if (i < 20) {
            mixed = (b & c) | (~b & d);
            constant = 0x5A827999;
        } else if (i < 40) {
            mixed = b ^ c ^ d;
            constant = 0x6ED9EBA1;
        } else if (i < 60) {
            mixed = (b & c) | (b & d) | (c & d);
            constant = 0x8F1BBCDC;
        } else {
            mixed = b ^ c ^ d;
            constant = 0xCA62C1D6;
        }
        uint32_t next = rotated(a, 5) + mixed + e + constant + words[i];
        e = d;
        d = c;
        c = rotated(b, 30);
        b = a;
        a = next;
    }
    hash->state[0] += a;
    hash->state[1] += b;
    hash->state[2] += c;
    hash->state[3] += d;
    hash->state[4] += e;
}

static void sha1_begin(sha1 *hash) {
    *hash = (sha1){{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0}, 0, {0}};
}

static void sha1_add(sha1 *hash, const void *data, size_t count) {
    const uint8_t *bytes = data;
    size_t used = hash->length % 64;
    hash->length += count;
    if (used + count >= 64) {
        if (used > 0) {
            size_t room = 64 - used;
            memcpy(hash->block + used, bytes, room);
            sha1_block(hash, hash->block);
            bytes += room;
            count -= room;
            used = 0;
        }
        for (; count >= 64; bytes += 64, count -= 64) sha1_block(hash, bytes);
    }
    memcpy(hash->block + used, bytes, count);
}

static void sha1_end(sha1 *hash, uint8_t digest[20]) {
    uint64_t bits = hash->length * 8;
    uint8_t tail[72] = {0x80};
    size_t padding = 64 - (hash->length + 8) % 64;
    for (int i = 0; i < 8; i++) tail[padding + i] = (uint8_t)(bits >> (56 - 8 * i));
    sha1_add(hash, tail, padding + 8);
    for (int i = 0; i < 20; i++) digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

static void add_number(sha1 *hash, char type, uint64_t bits) {
    uint8_t bytes[9] = {(uint8_t)type};
    for (int i = 0; i < 8; i++) bytes[i + 1] = (uint8_t)(bits >> (56 - 8 * i));
    sha1_add(hash, bytes, 9);
}

static void add_bytes(sha1 *hash, char type, const void *bytes, int count) {
    char head[16];
    int length = snprintf(head, sizeof head, "%c%d:", type, count);
    sha1_add(hash, head, (size_t)length);
    if (count > 0) sha1_add(hash, bytes, (size_t)count);
}

static int hash_rows(sqlite3 *database, const char *sql, sha1 *hash) {
    sqlite3_stmt *rows;
    int result = sqlite3_prepare_v2(database, sql, -1, &rows, 0);
    if (result) return result;
    int columns = sqlite3_column_count(rows);
    while ((result = sqlite3_step(rows)) == SQLITE_ROW) {
        for (int i = 0; i < columns; i++) {
            double number;
            uint64_t bits;
            switch (sqlite3_column_type(rows, i)) {
            case SQLITE_NULL: sha1_add(hash, "0", 1); break;
            case SQLITE_INTEGER: add_number(hash, '1', (uint64_t)sqlite3_column_int64(rows, i)); break;
            case SQLITE_FLOAT:
                number = sqlite3_column_double(rows, i);
                memcpy(&bits, &number, 8);
                add_number(hash, '2', bits);
                break;
            case SQLITE_TEXT: add_bytes(hash, '3', sqlite3_column_text(rows, i), sqlite3_column_bytes(rows, i)); break;
            default: add_bytes(hash, '4', sqlite3_column_blob(rows, i), sqlite3_column_bytes(rows, i));
            }
        }
    }
    sqlite3_finalize(rows);
    return result == SQLITE_DONE ? 0 : result;
}

int cy_dbhash(const char *path, uint8_t digest[20]) {
    sqlite3 *database;
    sqlite3_stmt *tables = NULL;
    sha1 hash;
    sha1_begin(&hash);
    int result = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL);
    if (!result) {
        result = sqlite3_prepare_v2(
            database,
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
            "ORDER BY name COLLATE nocase",
            -1, &tables, 0);
    }
    while (!result && sqlite3_step(tables) == SQLITE_ROW) {
        char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", sqlite3_column_text(tables, 0));
        result = hash_rows(database, sql, &hash);
        sqlite3_free(sql);
    }
    sqlite3_finalize(tables);
    if (!result) {
        result = hash_rows(
            database,
            "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE tbl_name NOT LIKE 'sqlite_%' "
            "ORDER BY name COLLATE nocase",
            &hash);
    }
    sqlite3_close(database);
    sha1_end(&hash, digest);
    return result;
}
