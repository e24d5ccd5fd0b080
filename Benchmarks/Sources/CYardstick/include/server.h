#ifndef CYARDSTICK_SERVER_H
#define CYARDSTICK_SERVER_H

#include <stddef.h>
#include <stdint.h>

// Stores on a PostgreSQL server, read and written by hand with libpq in pipeline mode: the same statements as HabitStorePostgres, in the same round
// trips. A function returns 0, or another number if cy_postgres_message has an error message.

/// A connection with prepared statements.
typedef struct cy_postgres cy_postgres;

/// The rows that a write of a store left on the server: the values for statements that do the same in a copy of the store.
typedef struct cy_rows cy_rows;

/// A range of an index.
typedef struct cy_walk cy_walk;

int cy_postgres_open(const char *uri, cy_postgres **connection);
void cy_postgres_close(cy_postgres *connection);
const char *cy_postgres_message(const cy_postgres *connection);

/// Runs a statement without values; its first value is a number, or it has no result.
int cy_postgres_number(cy_postgres *connection, const char *statement, int64_t *number);

/// The number of a record's entity.
int cy_postgres_entity(cy_postgres *connection, const uint8_t *store, const uint8_t *id, int16_t *entity);
/// The keys from one record to another, in the index with the longest keys.
int cy_postgres_walk_open(
    cy_postgres *connection, const uint8_t *store, int16_t entity, const uint8_t *first, const uint8_t *last, cy_walk **walk);
void cy_postgres_walk_close(cy_walk *walk);
/// Reads what a store's last write left of some records of an entity that it inserted or changed.
int cy_postgres_rows_open(
    cy_postgres *connection, const uint8_t *store, int16_t entity, const uint8_t *ids, size_t count, cy_rows **rows);
void cy_postgres_rows_close(cy_rows *rows);

/// The measured operations. Each is a transaction.
int cy_postgres_read(cy_postgres *connection, const uint8_t *store, int16_t entity, const uint8_t *id, uint64_t *checksum);
int cy_postgres_range(cy_postgres *connection, const uint8_t *store, const cy_walk *walk, uint64_t *checksum);
int cy_postgres_insert(cy_postgres *connection, const uint8_t *store, const cy_rows *rows);
int cy_postgres_update(cy_postgres *connection, const uint8_t *store, const cy_rows *rows);

/// The pgbench script that updates a record of a store repeatedly, like cy_postgres_update; the caller frees it.
///
/// - number: of the client that runs it.
int cy_postgres_script(
    cy_postgres *connection, const uint8_t *store, const cy_rows *rows, int number, char **script);

#endif
