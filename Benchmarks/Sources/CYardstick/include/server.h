#ifndef CYARDSTICK_SERVER_H
#define CYARDSTICK_SERVER_H

#include <stddef.h>
#include <stdint.h>

// Stores on a server of PostgreSQL, read and written by hand with libpq in pipeline mode: the statements that HabitStorePostgres sends
// for the same work, in the same round trips. A function returns 0, or another number where cy_postgres_message says what is wrong.

/// A connection with its statements prepared.
typedef struct cy_postgres cy_postgres;

/// What a write of a store has left on the server: the values of the statements that do the same in a copy of the store.
typedef struct cy_rows cy_rows;

/// A range of an index.
typedef struct cy_walk cy_walk;

int cy_postgres_open(const char *uri, cy_postgres **connection);
void cy_postgres_close(cy_postgres *connection);
const char *cy_postgres_message(const cy_postgres *connection);

/// Runs a statement without values; its first value is a number, or there is none.
int cy_postgres_number(cy_postgres *connection, const char *statement, int64_t *number);

/// The number of the entity of a record.
int cy_postgres_entity(cy_postgres *connection, const uint8_t *store, const uint8_t *id, int16_t *entity);
/// The keys from one record's to another one's, in the index whose keys are longest.
int cy_postgres_walk_open(
    cy_postgres *connection, const uint8_t *store, int16_t entity, const uint8_t *first, const uint8_t *last, cy_walk **walk);
void cy_postgres_walk_close(cy_walk *walk);
/// Looks up what the last write of a store has left of some records of an entity, which it has inserted or changed.
int cy_postgres_rows_open(
    cy_postgres *connection, const uint8_t *store, int16_t entity, const uint8_t *ids, size_t count, cy_rows **rows);
void cy_postgres_rows_close(cy_rows *rows);

/// What is measured. Each is a transaction.
int cy_postgres_read(cy_postgres *connection, const uint8_t *store, int16_t entity, const uint8_t *id, uint64_t *checksum);
int cy_postgres_range(cy_postgres *connection, const uint8_t *store, const cy_walk *walk, uint64_t *checksum);
int cy_postgres_insert(cy_postgres *connection, const uint8_t *store, const cy_rows *rows);
int cy_postgres_update(cy_postgres *connection, const uint8_t *store, const cy_rows *rows);

/// The script in which pgbench updates a record of a store again and again, as cy_postgres_update does it; the caller frees it.
///
/// - number: of the client that runs it.
int cy_postgres_script(
    cy_postgres *connection, const uint8_t *store, const cy_rows *rows, int number, char **script);

#endif
