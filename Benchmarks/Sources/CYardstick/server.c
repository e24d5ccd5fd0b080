#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "include/server.h"

// MARK: Statements

// The same texts as in Sources/HabitStorePostgres/Client/PostgresStatement.swift: the suite sends both through a proxy, and fails if a statement name
// has
// two texts, or if the statements of a round trip differ between the sides.

#define HEAD "SELECT format, version, meta, last_writes, name, token, digests, meta_sum FROM hs_store WHERE store = $1"

typedef enum {
    begin_read, begin_write, head, locked_head, last_token, record, taken, digest, digests, entries_up, put_records, put_keys,
    append_history, put_digests, advance, commit, rollback, statement_count
} statement;

static const struct {
    const char *name, *text;
} statements[] = {
    [begin_read] = {"hs_begin_read", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"},
    [begin_write] = {"hs_begin_write", "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"},
    [head] = {"hs_head", HEAD},
    [locked_head] = {"hs_locked_head", HEAD " FOR UPDATE"},
    [last_token] = {
        "hs_last_token", "SELECT token FROM hs_history WHERE store = $1 ORDER BY token DESC, sequence DESC LIMIT 1"},
    [record] = {"hs_record", "SELECT body FROM hs_record WHERE store = $1 AND entity = $2 AND id = $3"},
    [taken] = {
        "hs_taken",
        "SELECT r.id FROM unnest($3::uuid[]) AS u (id) CROSS JOIN LATERAL (\n"
        "SELECT t.id FROM hs_record t WHERE t.store = $1 AND t.entity = $2 AND t.id = u.id LIMIT 1) AS r"},
    [digest] = {
        "hs_digest",
        "SELECT first, body FROM hs_digest WHERE store = $1 AND entity = $2 AND first <= $3\n"
        "ORDER BY first DESC LIMIT 1"},
    [digests] = {"hs_digests", "SELECT first, body FROM hs_digest WHERE store = $1 AND entity = $2 ORDER BY first"},
    [entries_up] = {
        "hs_entries_up",
        "SELECT key, id, body FROM (SELECT key, id, body, sum(coalesce(octet_length(body), 0))\n"
        "OVER (ORDER BY key ROWS UNBOUNDED PRECEDING) - coalesce(octet_length(body), 0) AS so_far\n"
        "FROM (SELECT t.key, t.id, (SELECT r.body FROM hs_record r"
        " WHERE r.store = $1 AND r.entity = $6 AND r.id = t.id) AS body FROM hs_index t\n"
        "WHERE t.store = $1 AND t.number = $2 AND t.key >= $3 AND t.key < $4\n"
        "ORDER BY t.key LIMIT $5) AS counted) AS summed WHERE so_far < 4194304 ORDER BY key"},
    [put_records] = {
        "hs_put_records",
        "INSERT INTO hs_record (store, entity, id, body)\n"
        "SELECT $1, u.entity, u.id, u.body FROM unnest($2::smallint[], $3::uuid[], $4::bytea[]) AS u (entity, id, body)\n"
        "ON CONFLICT (store, entity, id) DO UPDATE SET body = excluded.body"},
    [put_keys] = {
        "hs_put_keys",
        "INSERT INTO hs_index (store, number, key, id)\n"
        "SELECT $1, u.number, u.key, u.id FROM unnest($2::smallint[], $3::bytea[], $4::uuid[]) AS u (number, key, id)\n"
        "ON CONFLICT (store, number, key) DO NOTHING"},
    [append_history] = {
        "hs_append_history",
        "INSERT INTO hs_history (store, token, sequence, body)\n"
        "SELECT $1, u.token, u.sequence, u.body FROM unnest($2::bigint[], $3::integer[], $4::bytea[])"
        " AS u (token, sequence, body)"},
    [put_digests] = {
        "hs_put_digests",
        "INSERT INTO hs_digest (store, entity, first, body)\n"
        "SELECT $1, u.entity, u.first, u.body FROM unnest($2::smallint[], $3::uuid[], $4::bytea[]) AS u (entity, first, body)\n"
        "ON CONFLICT (store, entity, first) DO UPDATE SET body = excluded.body"},
    [advance] = {
        "hs_advance",
        "UPDATE hs_store SET last_writes = substring($3::bytea || last_writes, 1, 512), meta = $4,\n"
        "token = $5, digests = $6, meta_sum = $7,\n"
        "version = CASE WHEN version = $2 THEN $2 + 1 ELSE 1 / (version - version) END WHERE store = $1"},
    [commit] = {"hs_commit", "COMMIT"},
    [rollback] = {"hs_rollback", "ROLLBACK"},
};

// MARK: Connections

// The concatenated values of one statement.
typedef struct {
    char *bytes;
    size_t used, capacity;
    size_t starts[8];
    int count;
} values;

struct cy_postgres {
    PGconn *connection;
    values values;
    // Whether a rollback was sent whose answer has not been read.
    int is_rolling_back;
    char message[512];
};

static int fail(cy_postgres *store, const char *message) {
    snprintf(store->message, sizeof store->message, "%s", message);
    return 1;
}

const char *cy_postgres_message(const cy_postgres *store) { return store->message; }

int cy_postgres_open(const char *uri, cy_postgres **made) {
    cy_postgres *store = *made = calloc(1, sizeof *store);
    // The same settings as the store's connections.
    static const char *const names[] = {"target_session_attrs", "options", "dbname", NULL};
    const char *const settings[] = {"read-write", "-c enable_seqscan=off", uri, NULL};
    store->connection = PQconnectdbParams(names, settings, 1);
    if (PQstatus(store->connection) != CONNECTION_OK) return fail(store, PQerrorMessage(store->connection));
    for (int i = 0; i < statement_count; i++) {
        PGresult *result = PQprepare(store->connection, statements[i].name, statements[i].text, 0, NULL);
        int is_done = PQresultStatus(result) == PGRES_COMMAND_OK;
        PQclear(result);
        if (!is_done) return fail(store, PQerrorMessage(store->connection));
    }
    if (!PQenterPipelineMode(store->connection)) return fail(store, PQerrorMessage(store->connection));
    return 0;
}

void cy_postgres_close(cy_postgres *store) {
    PQfinish(store->connection);
    free(store->values.bytes);
    free(store);
}

// MARK: Values in binary form

static char *room(cy_postgres *store, size_t length) {
    values *values = &store->values;
    if (values->used + length > values->capacity) {
        values->capacity = 2 * (values->used + length) + 4096;
        values->bytes = realloc(values->bytes, values->capacity);
    }
    char *place = values->bytes + values->used;
    values->used += length;
    return place;
}

static void next_value(cy_postgres *store) { store->values.starts[store->values.count++] = store->values.used; }

static void put_number(cy_postgres *store, uint64_t number, int length) {
    char *place = room(store, (size_t)length);
    for (int i = 0; i < length; i++) place[i] = (char)(number >> (8 * (length - 1 - i)));
}

static void put_bytes(cy_postgres *store, const void *bytes, size_t length) { memcpy(room(store, length), bytes, length); }

static void add_number(cy_postgres *store, int64_t number, int length) {
    next_value(store);
    put_number(store, (uint64_t)number, length);
}

static void add_bytes(cy_postgres *store, const void *bytes, size_t length) {
    next_value(store);
    put_bytes(store, bytes, length);
}

enum { bytea = 17, int8 = 20, int2 = 21, int4 = 23, uuid = 2950 };

static void add_array(cy_postgres *store, int type, int count) {
    next_value(store);
    put_number(store, count > 0, 4);
    put_number(store, 0, 4);
    put_number(store, (uint64_t)type, 4);
    if (count == 0) return;
    put_number(store, (uint64_t)count, 4);
    put_number(store, 1, 4);
}

static void put_element(cy_postgres *store, const void *bytes, int length) {
    put_number(store, (uint64_t)length, 4);
    put_bytes(store, bytes, (size_t)length);
}

// Adds a column of a result as an array; numbers have the same form in arrays.
static void add_column(cy_postgres *store, int type, const PGresult *rows, int column) {
    add_array(store, type, PQntuples(rows));
    for (int row = 0; row < PQntuples(rows); row++) {
        put_element(store, PQgetvalue(rows, row, column), PQgetlength(rows, row, column));
    }
}

// Adds the entity's number for each row.
static void add_entities(cy_postgres *store, int16_t entity, int count) {
    add_array(store, int2, count);
    for (int row = 0; row < count; row++) {
        put_number(store, 2, 4);
        put_number(store, (uint64_t)entity, 2);
    }
}

static int64_t read_number(const PGresult *rows, int row, int column) {
    int64_t number = 0;
    const uint8_t *bytes = (const uint8_t *)PQgetvalue(rows, row, column);
    for (int i = 0; i < PQgetlength(rows, row, column); i++) number = number << 8 | bytes[i];
    return number;
}

// MARK: Sending and receiving

static int post(cy_postgres *store, statement sent) {
    static const int binary[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    values *values = &store->values;
    const char *places[8];
    int lengths[8];
    for (int i = 0; i < values->count; i++) {
        size_t end = i + 1 < values->count ? values->starts[i + 1] : values->used;
        // Values without bytes must not have a null pointer, which would mean a null value.
        places[i] = values->bytes + values->starts[i];
        lengths[i] = (int)(end - values->starts[i]);
    }
    int is_sent = PQsendQueryPrepared(
        store->connection, statements[sent].name, values->count, places, lengths, binary, 1);
    values->used = 0;
    values->count = 0;
    return is_sent ? 0 : fail(store, PQerrorMessage(store->connection));
}

static int post_of(cy_postgres *store, statement sent, const uint8_t *id) {
    add_bytes(store, id, 16);
    return post(store, sent);
}

static int end_trip(cy_postgres *store) {
    return PQpipelineSync(store->connection) ? 0 : fail(store, PQerrorMessage(store->connection));
}

static int receive(cy_postgres *store, PGresult **answer) {
    PGresult *found = PQgetResult(store->connection);
    ExecStatusType status = PQresultStatus(found);
    int result = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? 0 : fail(store, PQresultErrorMessage(found));
    PGresult *end = PQgetResult(store->connection);
    if (!result && end) result = fail(store, "the server sent a second answer");
    PQclear(end);
    if (answer && !result) *answer = found;
    else PQclear(found);
    return result;
}

static int receive_sync(cy_postgres *store) {
    PGresult *found = PQgetResult(store->connection);
    int result = PQresultStatus(found) == PGRES_PIPELINE_SYNC ? 0 : fail(store, "the server sent an unexpected answer");
    PQclear(found);
    return result;
}

static int receive_rollback(cy_postgres *store) {
    if (!store->is_rolling_back) return 0;
    store->is_rolling_back = 0;
    int result = receive(store, NULL);
    return result ? result : receive_sync(store);
}

static int post_rollback(cy_postgres *store) {
    int result = post(store, rollback);
    if (!result) result = end_trip(store);
    store->is_rolling_back = !result;
    return result;
}

// MARK: Reading

// Entry: header 8, nulls 1, id 16, date 8, note 4 + 4, value 8, habitID 16; see the article On-disk formats.
enum { entryNote = 33, entryValue = 41, entryHabit = 49, entryEnd = 65 };
enum { noteIsNull = 1 << 2, valueIsNull = 1 << 3, habitIsNull = 1 << 4 };

static int add_entry(cy_postgres *store, const PGresult *rows, int row, int column, uint64_t *checksum) {
    const uint8_t *body = (const uint8_t *)PQgetvalue(rows, row, column);
    if (PQgetlength(rows, row, column) < entryEnd) return fail(store, "a record is missing");
    cy_entry entry;
    uint8_t nulls = body[8];
    int32_t note_length;
    memcpy(&note_length, body + entryNote + 4, 4);
    memcpy(entry.id, body + 9, 16);
    memcpy(&entry.date, body + 25, 8);
    memcpy(&entry.value, body + entryValue, 8);
    memcpy(entry.habit, body + entryHabit, 16);
    entry.hasValue = !(nulls & valueIsNull);
    entry.hasHabit = !(nulls & habitIsNull);
    entry.noteLength = nulls & noteIsNull ? -1 : note_length;
    *checksum += cy_checksum(&entry);
    return 0;
}

static int post_beginning(cy_postgres *store, int is_write, const uint8_t *id) {
    int result = post(store, is_write ? begin_write : begin_read);
    if (!result) result = post_of(store, is_write ? locked_head : head, id);
    return result ? result : post_of(store, last_token, id);
}

// The state in the store's row; receiving it also checks that the history ends there.
typedef struct {
    int64_t version, meta, token;
} state;

static int receive_beginning(cy_postgres *store, state *found) {
    PGresult *row = NULL, *token = NULL;
    int result = receive_rollback(store);
    if (!result) result = receive(store, NULL);
    if (!result) result = receive(store, &row);
    if (!result) result = receive(store, &token);
    if (!result && (PQntuples(row) == 0 || PQntuples(token) == 0)) result = fail(store, "the store does not exist");
    if (!result) {
        *found = (state){read_number(row, 0, 1), read_number(row, 0, 2), read_number(row, 0, 5)};
        if (read_number(token, 0, 0) != found->token) result = fail(store, "the history ends at another token");
    }
    PQclear(row);
    PQclear(token);
    return result;
}

static int receive_entries(cy_postgres *store, int column, uint64_t *checksum) {
    state found;
    PGresult *rows = NULL;
    int result = receive_beginning(store, &found);
    if (!result) result = receive(store, &rows);
    for (int row = 0; !result && row < PQntuples(rows); row++) result = add_entry(store, rows, row, column, checksum);
    PQclear(rows);
    if (!result) result = receive_sync(store);
    return result ? result : post_rollback(store);
}

static int post_record(cy_postgres *store, const uint8_t *id, int16_t entity, const void *record_id) {
    add_bytes(store, id, 16);
    add_number(store, entity, 2);
    add_bytes(store, record_id, 16);
    return post(store, record);
}

int cy_postgres_read(cy_postgres *store, const uint8_t *id, int16_t entity, const uint8_t *record_id, uint64_t *checksum) {
    int result = post_beginning(store, 0, id);
    if (!result) result = post_record(store, id, entity, record_id);
    if (!result) result = end_trip(store);
    return result ? result : receive_entries(store, 0, checksum);
}

struct cy_walk {
    int16_t entity, number;
    size_t low_length, high_length;
    char low[512], high[512];
};

int cy_postgres_range(cy_postgres *store, const uint8_t *id, const cy_walk *walk, uint64_t *checksum) {
    int result = post_beginning(store, 0, id);
    add_bytes(store, id, 16);
    add_number(store, walk->number, 2);
    add_bytes(store, walk->low, walk->low_length);
    add_bytes(store, walk->high, walk->high_length);
    add_number(store, 256, 8);
    add_number(store, walk->entity, 2);
    if (!result) result = post(store, entries_up);
    if (!result) result = end_trip(store);
    return result ? result : receive_entries(store, 2, checksum);
}

// MARK: Writing

struct cy_rows {
    int16_t entity;
    int is_batch;
    // The habits to which the records refer, each once.
    int16_t habit_entity;
    uint8_t *habits;
    int habit_count;
    // entity, id, body; number, key, id; token, sequence, body; first, body; token, digests, meta_sum.
    PGresult *records, *keys, *history, *digests, *head;
};

static int write_rows(cy_postgres *store, const uint8_t *id, const cy_rows *rows, int has_keys) {
    state found;
    uint8_t write[16];
    for (int i = 0; i < 16; i++) write[i] = (uint8_t)rand();
    // Takes the row's lock.
    int result = post_beginning(store, 1, id);
    if (!result) result = end_trip(store);
    if (!result) result = receive_beginning(store, &found);
    if (!result) result = receive_sync(store);
    if (result) return result;
    // Reads what the write needs to know about the records and the habits to which they refer.
    if (rows->is_batch) {
        add_bytes(store, id, 16);
        add_number(store, rows->entity, 2);
        add_column(store, uuid, rows->records, 1);
        result = post(store, taken);
        add_bytes(store, id, 16);
        add_number(store, rows->entity, 2);
        if (!result) result = post(store, digests);
    } else {
        result = post_record(store, id, rows->entity, PQgetvalue(rows->records, 0, 1));
        add_bytes(store, id, 16);
        add_number(store, rows->entity, 2);
        add_bytes(store, PQgetvalue(rows->records, 0, 1), 16);
        if (!result) result = post(store, digest);
    }
    add_bytes(store, id, 16);
    add_number(store, rows->habit_entity, 2);
    add_array(store, uuid, rows->habit_count);
    for (int i = 0; i < rows->habit_count; i++) put_element(store, rows->habits + 16 * i, 16);
    if (!result) result = post(store, taken);
    if (!result) result = end_trip(store);
    PGresult *there = NULL, *habits = NULL;
    if (!result) result = receive(store, &there);
    if (!result) result = receive(store, NULL);
    if (!result) result = receive(store, &habits);
    if (!result) result = receive_sync(store);
    if (!result && PQntuples(there) != !has_keys) result = fail(store, "a record exists already, or is missing");
    if (!result && PQntuples(habits) != rows->habit_count) result = fail(store, "the habit does not exist");
    PQclear(there);
    PQclear(habits);
    if (result) return result;
    // Sends all writes and the commit.
    add_bytes(store, id, 16);
    add_entities(store, rows->entity, PQntuples(rows->records));
    add_column(store, uuid, rows->records, 1);
    add_column(store, bytea, rows->records, 2);
    result = post(store, put_records);
    if (has_keys) {
        add_bytes(store, id, 16);
        add_column(store, int2, rows->keys, 0);
        add_column(store, bytea, rows->keys, 1);
        add_column(store, uuid, rows->keys, 2);
        if (!result) result = post(store, put_keys);
    }
    add_bytes(store, id, 16);
    add_column(store, int8, rows->history, 0);
    add_column(store, int4, rows->history, 1);
    add_column(store, bytea, rows->history, 2);
    if (!result) result = post(store, append_history);
    add_bytes(store, id, 16);
    add_entities(store, rows->entity, PQntuples(rows->digests));
    add_column(store, uuid, rows->digests, 0);
    add_column(store, bytea, rows->digests, 1);
    if (!result) result = post(store, put_digests);
    add_bytes(store, id, 16);
    add_number(store, found.version, 8);
    add_bytes(store, write, 16);
    add_number(store, found.meta, 8);
    add_number(store, found.token + 1, 8);
    add_bytes(store, PQgetvalue(rows->head, 0, 1), (size_t)PQgetlength(rows->head, 0, 1));
    add_bytes(store, PQgetvalue(rows->head, 0, 2), (size_t)PQgetlength(rows->head, 0, 2));
    if (!result) result = post(store, advance);
    if (!result) result = post(store, commit);
    if (!result) result = end_trip(store);
    for (int i = 0; !result && i < 5 + has_keys; i++) result = receive(store, NULL);
    return result ? result : receive_sync(store);
}

int cy_postgres_insert(cy_postgres *store, const uint8_t *id, const cy_rows *rows) { return write_rows(store, id, rows, 1); }

int cy_postgres_update(cy_postgres *store, const uint8_t *id, const cy_rows *rows) { return write_rows(store, id, rows, 0); }

// MARK: Looking up

// Runs an unmeasured statement, with the added values.
static int ask(cy_postgres *store, const char *text, int is_binary, PGresult **answer) {
    static const int binary[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    values *values = &store->values;
    const char *places[8];
    int lengths[8];
    for (int i = 0; i < values->count; i++) {
        places[i] = values->bytes + values->starts[i];
        lengths[i] = (int)((i + 1 < values->count ? values->starts[i + 1] : values->used) - values->starts[i]);
    }
    int is_sent = PQsendQueryParams(
        store->connection, text, values->count, NULL, places, lengths, binary, is_binary);
    values->used = 0;
    values->count = 0;
    int result = is_sent ? end_trip(store) : fail(store, PQerrorMessage(store->connection));
    if (!result) result = receive_rollback(store);
    if (!result) result = receive(store, answer);
    return result ? result : receive_sync(store);
}

int cy_postgres_number(cy_postgres *store, const char *statement, int64_t *number) {
    PGresult *answer = NULL;
    int result = ask(store, statement, 0, &answer);
    if (!result && PQntuples(answer) > 0) *number = atoll(PQgetvalue(answer, 0, 0));
    PQclear(answer);
    return result;
}

int cy_postgres_entity(cy_postgres *store, const uint8_t *id, const uint8_t *record_id, int16_t *entity) {
    PGresult *answer = NULL;
    add_bytes(store, id, 16);
    add_bytes(store, record_id, 16);
    int result = ask(store, "SELECT entity FROM hs_record WHERE store = $1 AND id = $2", 1, &answer);
    if (!result && PQntuples(answer) != 1) result = fail(store, "the record does not exist");
    if (!result) *entity = (int16_t)read_number(answer, 0, 0);
    PQclear(answer);
    return result;
}

static int find_key(
    cy_postgres *store, const uint8_t *id, const uint8_t *record_id, char key[512], size_t *length, int16_t *number) {
    PGresult *answer = NULL;
    add_bytes(store, id, 16);
    add_bytes(store, record_id, 16);
    int result = ask(
        store,
        "SELECT number, key FROM hs_index WHERE store = $1 AND id = $2 AND octet_length(key) < 512"
        " ORDER BY octet_length(key) DESC LIMIT 1", 1, &answer);
    if (!result && PQntuples(answer) != 1) result = fail(store, "the record has no key");
    if (!result) {
        *number = (int16_t)read_number(answer, 0, 0);
        *length = (size_t)PQgetlength(answer, 0, 1);
        memcpy(key, PQgetvalue(answer, 0, 1), *length);
    }
    PQclear(answer);
    return result;
}

int cy_postgres_walk_open(
    cy_postgres *store, const uint8_t *id, int16_t entity, const uint8_t *first, const uint8_t *last, cy_walk **made) {
    cy_walk *walk = *made = calloc(1, sizeof *walk);
    walk->entity = entity;
    int result = find_key(store, id, first, walk->low, &walk->low_length, &walk->number);
    if (!result) result = find_key(store, id, last, walk->high, &walk->high_length, &walk->number);
    // The first key after the last one.
    walk->high[walk->high_length++] = 0;
    return result;
}

void cy_postgres_walk_close(cy_walk *walk) { free(walk); }

static void add_ids(cy_postgres *store, const uint8_t *ids, size_t count) {
    add_array(store, uuid, (int)count);
    for (size_t i = 0; i < count; i++) put_element(store, ids + 16 * i, 16);
}

static int find_habits(cy_postgres *store, const uint8_t *id, cy_rows *rows) {
    int count = PQntuples(rows->records);
    rows->habits = malloc(16 * ((size_t)count + 1));
    for (int row = 0; row < count; row++) {
        const char *habit = PQgetvalue(rows->records, row, 2) + entryHabit;
        int place = 0;
        while (place < rows->habit_count && memcmp(rows->habits + 16 * place, habit, 16)) place++;
        memcpy(rows->habits + 16 * place, habit, 16);
        if (place == rows->habit_count) rows->habit_count++;
    }
    return cy_postgres_entity(store, id, rows->habits, &rows->habit_entity);
}

int cy_postgres_rows_open(
    cy_postgres *store, const uint8_t *id, int16_t entity, const uint8_t *ids, size_t count, cy_rows **made) {
    cy_rows *rows = *made = calloc(1, sizeof *rows);
    rows->entity = entity;
    rows->is_batch = count > 1;
    add_bytes(store, id, 16);
    add_number(store, entity, 2);
    add_ids(store, ids, count);
    int result = ask(
        store, "SELECT entity, id, body FROM hs_record WHERE store = $1 AND entity = $2 AND id = ANY($3::uuid[])", 1,
        &rows->records);
    if (!result && PQntuples(rows->records) != (int)count) result = fail(store, "records are missing");
    if (!result) result = find_habits(store, id, rows);
    add_bytes(store, id, 16);
    add_ids(store, ids, count);
    if (!result) {
        result = ask(
            store, "SELECT number, key, id FROM hs_index WHERE store = $1 AND id = ANY($2::uuid[])", 1, &rows->keys);
    }
    add_bytes(store, id, 16);
    if (!result) {
        result = ask(
            store,
            "SELECT token, sequence, body FROM hs_history WHERE store = $1"
            " AND token = (SELECT token FROM hs_store WHERE store = $1) ORDER BY sequence", 1, &rows->history);
    }
    add_bytes(store, id, 16);
    add_number(store, entity, 2);
    // A batch changes all of them.
    if (rows->is_batch) {
        if (!result) result = ask(store, statements[digests].text, 1, &rows->digests);
    } else {
        add_bytes(store, ids, 16);
        if (!result) result = ask(store, statements[digest].text, 1, &rows->digests);
    }
    add_bytes(store, id, 16);
    if (!result) {
        result = ask(store, "SELECT token, digests, meta_sum FROM hs_store WHERE store = $1", 1, &rows->head);
    }
    store->values.used = 0;
    store->values.count = 0;
    return result;
}

void cy_postgres_rows_close(cy_rows *rows) {
    PQclear(rows->records);
    PQclear(rows->keys);
    PQclear(rows->history);
    PQclear(rows->digests);
    PQclear(rows->head);
    free(rows->habits);
    free(rows);
}

// MARK: pgbench

static void write_bytes(FILE *script, const void *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) fprintf(script, "%02x", ((const uint8_t *)bytes)[i]);
}

static void write_uuid(FILE *script, const void *bytes) {
    fputc('\'', script);
    write_bytes(script, bytes, 16);
    fputs("'::uuid", script);
}

static void write_bytea(FILE *script, const void *bytes, size_t length) {
    fputs("'\\x", script);
    write_bytes(script, bytes, length);
    fputs("'::bytea", script);
}

static void write_column(FILE *script, const PGresult *rows, int column, int is_uuid) {
    fputs("ARRAY[", script);
    for (int row = 0; row < PQntuples(rows); row++) {
        if (row > 0) fputc(',', script);
        if (is_uuid) write_uuid(script, PQgetvalue(rows, row, column));
        else write_bytea(script, PQgetvalue(rows, row, column), (size_t)PQgetlength(rows, row, column));
    }
    fputc(']', script);
}

static void write_numbers(FILE *script, const PGresult *rows, int column) {
    fputs("ARRAY[", script);
    for (int row = 0; row < PQntuples(rows); row++) {
        fprintf(script, "%s%lld", row > 0 ? "," : "", (long long)read_number(rows, row, column));
    }
    fputc(']', script);
}

// The data of one client's script.
typedef struct {
    const cy_rows *rows;
    const uint8_t *store;
    int number;
    int64_t meta;
} client;

static void write_value(FILE *script, const client *client, statement of, int place) {
    const cy_rows *rows = client->rows;
    int entity_count = of == put_digests ? PQntuples(rows->digests) : PQntuples(rows->records);
    if (place == 1) return write_uuid(script, client->store);
    switch (of) {
    case record:
    case digest:
        if (place == 2) fprintf(script, "%d", rows->entity);
        else write_uuid(script, PQgetvalue(rows->records, 0, 1));
        break;
    case taken:
        if (place == 2) {
            fprintf(script, "%d", rows->habit_entity);
        } else {
            fputs("ARRAY[", script);
            write_uuid(script, rows->habits);
            fputc(']', script);
        }
        break;
    case put_records:
    case put_digests:
        if (place == 2) {
            fputs("ARRAY[", script);
            for (int i = 0; i < entity_count; i++) fprintf(script, "%s%d", i > 0 ? "," : "", rows->entity);
            fputc(']', script);
        } else {
            const PGresult *source = of == put_digests ? rows->digests : rows->records;
            write_column(script, source, of == put_digests ? place - 3 : place - 2, place == 3);
        }
        break;
    case append_history:
        if (place == 2) {
            fputs("ARRAY[", script);
            for (int i = 0; i < PQntuples(rows->history); i++) {
                fprintf(script, "%s:token%d", i > 0 ? "," : "", client->number);
            }
            fputc(']', script);
        } else if (place == 3) {
            write_numbers(script, rows->history, 1);
        } else {
            write_column(script, rows->history, 2, 0);
        }
        break;
    case advance:
        if (place == 2) fprintf(script, ":version%d::bigint", client->number);
        else if (place == 3) write_bytea(script, client->store, 16);
        else if (place == 4) fprintf(script, "%lld", (long long)client->meta);
        else if (place == 5) fprintf(script, ":token%d::bigint", client->number);
        else write_bytea(script, PQgetvalue(rows->head, 0, place - 5), (size_t)PQgetlength(rows->head, 0, place - 5));
        break;
    default: break;
    }
}

static void write_statement(FILE *script, const client *client, statement written) {
    for (const char *text = statements[written].text; *text; text++) {
        if (*text == '$') write_value(script, client, written, *++text - '0');
        else if (text[0] == ':' && text[1] == ':') fputs("::", script), text++;
        else fputc(*text == '\n' ? ' ' : *text, script);
    }
    fputs(";\n", script);
}

int cy_postgres_script(cy_postgres *store, const uint8_t *id, const cy_rows *rows, int number, char **made) {
    static const statement trips[3][6] = {
        {begin_write, locked_head, last_token, statement_count},
        {record, digest, taken, statement_count},
        {put_records, append_history, put_digests, advance, commit, statement_count},
    };
    state found;
    int result = post_beginning(store, 0, id);
    if (!result) result = end_trip(store);
    if (!result) result = receive_beginning(store, &found);
    if (!result) result = receive_sync(store);
    if (!result) result = post_rollback(store);
    if (result) return result;
    client client = {rows, id, number, found.meta};
    size_t length;
    FILE *script = open_memstream(made, &length);
    fprintf(script, "\\if :client_id = %d\n", number);
    fprintf(script, "\\set token%d %lld + :count\n", number, (long long)found.token);
    fprintf(script, "\\set version%d %lld + :count - 1\n", number, (long long)found.version);
    for (int trip = 0; trip < 3; trip++) {
        fputs("\\startpipeline\n", script);
        for (int i = 0; trips[trip][i] != statement_count; i++) write_statement(script, &client, trips[trip][i]);
        fputs("\\endpipeline\n", script);
    }
    fputs("\\endif\n", script);
    return fclose(script) ? fail(store, "no memory for a script") : 0;
}
