/// A statement that is sent to servers.
///
/// All statements are in ``all``, where a test checks that none uses features of a single product. Each names its store first:
/// products that distribute tables over machines use that to find the one to ask.
struct PostgresStatement: Hashable {
    /// The name of the prepared statement in a session.
    let name: String
    let text: String

    static func == (left: PostgresStatement, right: PostgresStatement) -> Bool { left.name == right.name }

    func hash(into hasher: inout Hasher) { hasher.combine(name) }

    // MARK: Sessions and transactions

    static let setLockTimeout = PostgresStatement(
        name: "hs_lock_timeout",
        text: "SELECT set_config('lock_timeout', $1, false)"
    )
    static let setIdleTimeout = PostgresStatement(
        name: "hs_idle_timeout",
        text: "SELECT set_config('idle_in_transaction_session_timeout', $1, false)"
    )
    /// Every statement finds its rows by a key, so sequential scans are disabled: a plan made while a table was empty would keep
    /// reading the whole table until the server's statistics change. On a server without this setting, nothing is set.
    static let setWholeTables = PostgresStatement(
        name: "hs_whole_tables",
        text: "SELECT set_config(name, $1, false) FROM pg_settings WHERE name = 'enable_seqscan'"
    )
    static let beginRead = PostgresStatement(
        name: "hs_begin_read",
        text: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    )
    static let beginWrite = PostgresStatement(
        name: "hs_begin_write",
        text: "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
    )
    static let beginCopy = PostgresStatement(
        name: "hs_begin_copy",
        text: "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE"
    )
    static let commit = PostgresStatement(name: "hs_commit", text: "COMMIT")
    static let rollback = PostgresStatement(name: "hs_rollback", text: "ROLLBACK")

    static let setting = PostgresStatement(name: "hs_setting", text: "SELECT current_setting($1, true)")

    // MARK: The store

    private static let headColumns = """
        SELECT format, version, meta, last_writes, name, token, digests, meta_sum FROM hs_store WHERE store = $1
        """
    static let head = PostgresStatement(name: "hs_head", text: headColumns)
    /// The same for a writer; other writers wait here for the lock.
    static let lockedHead = PostgresStatement(name: "hs_locked_head", text: headColumns + " FOR UPDATE")
    /// Separate from the head: after waiting for its lock, that statement would still see the earlier state.
    static let lastToken = PostgresStatement(
        name: "hs_last_token",
        text: "SELECT token FROM hs_history WHERE store = $1 ORDER BY token DESC, sequence DESC LIMIT 1"
    )
    static let metadata = PostgresStatement(
        name: "hs_metadata",
        text: "SELECT key, value FROM hs_meta WHERE store = $1"
    )
    static let makeStore = PostgresStatement(
        name: "hs_make_store",
        text: """
            INSERT INTO hs_store (store, format, name, version, meta, last_writes, token, digests, meta_sum)
            VALUES ($1, $2, $3, $5, $5, '', 0, '', $4) ON CONFLICT DO NOTHING
            """
    )
    /// Whether there are rows of a store that is about to be created.
    static let leftovers = PostgresStatement(
        name: "hs_leftovers",
        text: tables.dropLast().map { "(SELECT 1 FROM \($0.0) WHERE store = $1 LIMIT 1)" }.joined(
            separator: " UNION ALL "
        )
    )
    /// The number of recent commits that a store's row names.
    static let keptWrites = 32
    /// Ends a write. If another writer has bypassed the lock, it divides by zero, so that the COMMIT sent with it cannot succeed.
    static let advance = PostgresStatement(
        name: "hs_advance",
        text: """
            UPDATE hs_store SET last_writes = substring($3::bytea || last_writes, 1, \(16 * keptWrites)), meta = $4,
            token = $5, digests = $6, meta_sum = $7,
            version = CASE WHEN version = $2 THEN $2 + 1 ELSE 1 / (version - version) END WHERE store = $1
            """
    )
    /// A separate commit after one whose outcome is unknown: when it is acknowledged, so is everything before it.
    static let touch = PostgresStatement(
        name: "hs_touch",
        text: "UPDATE hs_store SET last_writes = last_writes WHERE store = $1"
    )

    // MARK: Single rows

    static let record = PostgresStatement(
        name: "hs_record",
        text: "SELECT body FROM hs_record WHERE store = $1 AND entity = $2 AND id = $3"
    )
    /// Looks up each identifier separately: for a store that the server's statistics do not know yet, the server would compare all
    /// records with the whole list.
    static let taken = PostgresStatement(
        name: "hs_taken",
        text: """
            SELECT r.id FROM unnest($3::uuid[]) AS u (id) CROSS JOIN LATERAL (
            SELECT t.id FROM hs_record t WHERE t.store = $1 AND t.entity = $2 AND t.id = u.id LIMIT 1) AS r
            """
    )
    static let digest = PostgresStatement(
        name: "hs_digest",
        text: """
            SELECT first, body FROM hs_digest WHERE store = $1 AND entity = $2 AND first <= $3
            ORDER BY first DESC LIMIT 1
            """
    )
    static let digests = PostgresStatement(
        name: "hs_digests",
        text: "SELECT first, body FROM hs_digest WHERE store = $1 AND entity = $2 ORDER BY first"
    )
    static let allDigests = PostgresStatement(
        name: "hs_all_digests",
        text: "SELECT entity, first, body FROM hs_digest WHERE store = $1 ORDER BY entity, first"
    )
    /// The numbers of the entities with records.
    static let recordNumbers = PostgresStatement(
        name: "hs_record_numbers",
        text: "SELECT DISTINCT entity FROM hs_record WHERE store = $1"
    )
    /// The numbers of the indexes with entries.
    static let indexNumbers = PostgresStatement(
        name: "hs_index_numbers",
        text: "SELECT DISTINCT number FROM hs_index WHERE store = $1"
    )
    static let history = PostgresStatement(
        name: "hs_history",
        text: page(
            "token, sequence, body",
            """
            SELECT token, sequence, body FROM hs_history
            WHERE store = $1 AND (token > $2 OR (token = $2 AND sequence > $3)) ORDER BY token, sequence LIMIT $4
            """,
            order: "token, sequence"
        )
    )

    static let evidence = PostgresStatement(
        name: "hs_evidence",
        text: "SELECT number, line FROM hs_evidence WHERE store = $1 AND number >= $2 ORDER BY number LIMIT $3"
    )
    static let lastEvidence = PostgresStatement(
        name: "hs_last_evidence",
        text: "SELECT number, line FROM hs_evidence WHERE store = $1 ORDER BY number DESC LIMIT 1"
    )

    // MARK: Changes

    static let putRecords = PostgresStatement(
        name: "hs_put_records",
        text: """
            INSERT INTO hs_record (store, entity, id, body)
            SELECT $1, u.entity, u.id, u.body FROM unnest($2::smallint[], $3::uuid[], $4::bytea[]) AS u (entity, id, body)
            ON CONFLICT (store, entity, id) DO UPDATE SET body = excluded.body
            """
    )
    static let removeRecord = PostgresStatement(
        name: "hs_remove_record",
        text: "DELETE FROM hs_record WHERE store = $1 AND entity = $2 AND id = $3"
    )
    static let putKeys = PostgresStatement(
        name: "hs_put_keys",
        text: """
            INSERT INTO hs_index (store, number, key, id)
            SELECT $1, u.number, u.key, u.id FROM unnest($2::smallint[], $3::bytea[], $4::uuid[]) AS u (number, key, id)
            ON CONFLICT (store, number, key) DO NOTHING
            """
    )
    static let removeKey = PostgresStatement(
        name: "hs_remove_key",
        text: "DELETE FROM hs_index WHERE store = $1 AND number = $2 AND key = $3"
    )
    static let putMetadata = PostgresStatement(
        name: "hs_put_metadata",
        text: """
            INSERT INTO hs_meta (store, key, value)
            SELECT $1, u.key, u.value FROM unnest($2::text[], $3::text[]) AS u (key, value)
            ON CONFLICT (store, key) DO UPDATE SET value = excluded.value
            """
    )
    static let removeMetadata = PostgresStatement(
        name: "hs_remove_metadata",
        text: "DELETE FROM hs_meta WHERE store = $1 AND key = ANY($2::text[])"
    )
    static let appendHistory = PostgresStatement(
        name: "hs_append_history",
        text: """
            INSERT INTO hs_history (store, token, sequence, body)
            SELECT $1, u.token, u.sequence, u.body FROM unnest($2::bigint[], $3::integer[], $4::bytea[]) AS u (token, sequence, body)
            """
    )
    static let pruneHistory = PostgresStatement(
        name: "hs_prune_history",
        text: "DELETE FROM hs_history WHERE store = $1 AND token <= $2"
    )
    static let putDigests = PostgresStatement(
        name: "hs_put_digests",
        text: """
            INSERT INTO hs_digest (store, entity, first, body)
            SELECT $1, u.entity, u.first, u.body FROM unnest($2::smallint[], $3::uuid[], $4::bytea[]) AS u (entity, first, body)
            ON CONFLICT (store, entity, first) DO UPDATE SET body = excluded.body
            """
    )
    static let addEvidence = PostgresStatement(
        name: "hs_add_evidence",
        text: """
            INSERT INTO hs_evidence (store, number, line)
            SELECT $1, u.number, u.line FROM unnest($2::bigint[], $3::bytea[]) AS u (number, line)
            """
    )
    static let removeEvidence = PostgresStatement(
        name: "hs_remove_evidence",
        text: "DELETE FROM hs_evidence WHERE store = $1 AND number >= $2"
    )
    static let removeDigests = PostgresStatement(
        name: "hs_remove_digests",
        text: "DELETE FROM hs_digest WHERE store = $1 AND entity = $2"
    )
    static let removeEntity = PostgresStatement(
        name: "hs_remove_entity",
        text: "DELETE FROM hs_record WHERE store = $1 AND entity = ANY($2::smallint[])"
    )
    static let removeIndexes = PostgresStatement(
        name: "hs_remove_indexes",
        text: "DELETE FROM hs_index WHERE store = $1 AND number = ANY($2::smallint[])"
    )

    // MARK: Pages

    /// The maximum number of bytes of bodies on a page, not counting the last body.
    static let pageBytes = 4 << 20

    /// The rows of a page, up to the one that reaches ``pageBytes``: pages are limited by their row count, and rows may be large.
    private static func page(_ columns: String, _ rows: String, order: String) -> String {
        """
        SELECT \(columns) FROM (SELECT \(columns), sum(coalesce(octet_length(body), 0))
        OVER (ORDER BY \(order) ROWS UNBOUNDED PRECEDING) - coalesce(octet_length(body), 0) AS so_far
        FROM (\(rows)) AS counted) AS summed WHERE so_far < \(pageBytes) ORDER BY \(order)
        """
    }

    // MARK: Walks

    /// The source of a walk.
    enum Source: String, CaseIterable {
        /// Records by their identifiers.
        case records
        /// Identifiers of records.
        case identifiers
        /// The keys of an index, with the identifiers at their ends.
        case keys
        /// The keys of an index, each with its identifier and its record.
        case entries

        fileprivate var columns: String {
            switch self {
            case .records: "t.id AS key, t.id, t.body"
            case .identifiers: "t.id, t.id"
            case .keys: "t.key, t.id"
            // Not a join: for a store that the server's statistics do not know yet, the server would expect a single record, and
            // search all of them for each key.
            case .entries:
                """
                t.key, t.id, (SELECT r.body FROM hs_record r WHERE r.store = $1 AND r.entity = $6 AND r.id = t.id) AS body
                """
            }
        }

        /// Whether the rows contain records.
        var hasBodies: Bool { self == .records || self == .entries }

        fileprivate func page(_ rows: String, reverse: Bool) -> String {
            guard hasBodies else { return rows }
            return PostgresStatement.page("key, id, body", rows, order: reverse ? "key DESC" : "key")
        }

        fileprivate var table: String { isOfIndex ? "hs_index" : "hs_record" }
        fileprivate var number: String { isOfIndex ? "number" : "entity" }
        fileprivate var key: String { isOfIndex ? "key" : "id" }
        fileprivate var type: String { isOfIndex ? "bytea" : "uuid" }
        fileprivate var isOfIndex: Bool { self == .keys || self == .entries }
        /// The upper bound is exclusive for indexes and inclusive for records.
        fileprivate var below: String { isOfIndex ? "<" : "<=" }
    }

    /// The keys in one range, from `$3` to `$4`; at most `$5`. For entries `$6` is the entity.
    static func walk(_ source: Source, reverse: Bool) -> PostgresStatement {
        PostgresStatement(
            name: "hs_\(source)_\(reverse ? "down" : "up")",
            text: source.page(
                """
                SELECT \(source.columns) FROM \(source.table) t
                WHERE t.store = $1 AND t.\(source.number) = $2 AND t.\(source.key) >= $3 AND t.\(source.key) \(source.below) $4
                ORDER BY t.\(source.key)\(reverse ? " DESC" : "") LIMIT $5
                """,
                reverse: reverse
            )
        )
    }

    /// The keys in several ranges, with the lists `$3` and `$4` as bounds; at most `$5`. For entries `$6` is the entity. Each range
    /// is walked separately, for the same reason as in ``taken``.
    static func walkSeveral(_ source: Source, reverse: Bool) -> PostgresStatement {
        PostgresStatement(
            name: "hs_several_\(source)_\(reverse ? "down" : "up")",
            text: source.page(
                """
                SELECT \(source.columns) FROM unnest($3::\(source.type)[], $4::\(source.type)[]) AS u (low, high)
                CROSS JOIN LATERAL (SELECT * FROM \(source.table) t WHERE t.store = $1 AND t.\(source.number) = $2
                AND t.\(source.key) >= u.low AND t.\(source.key) \(source.below) u.high
                ORDER BY t.\(source.key)\(reverse ? " DESC" : "") LIMIT $5) AS t
                ORDER BY t.\(source.key)\(reverse ? " DESC" : "") LIMIT $5
                """,
                reverse: reverse
            )
        )
    }

    /// The number of keys in several ranges, counted up to `$5`.
    static func count(_ source: Source) -> PostgresStatement {
        PostgresStatement(
            name: "hs_count_\(source)",
            text: """
                SELECT count(*) FROM (
                SELECT 1 FROM unnest($3::\(source.type)[], $4::\(source.type)[]) AS u (low, high)
                CROSS JOIN LATERAL (SELECT 1 FROM \(source.table) t WHERE t.store = $1 AND t.\(source.number) = $2
                AND t.\(source.key) >= u.low AND t.\(source.key) \(source.below) u.high LIMIT $5) AS t LIMIT $5) AS counted
                """
        )
    }

    /// The distinct first identifiers of an index's keys, after the presence byte, ascending.
    static let firstIdentifiers = PostgresStatement(
        name: "hs_first_identifiers",
        text: """
            SELECT DISTINCT substring(key, 2, 16) AS first FROM hs_index
            WHERE store = $1 AND number = $2 AND key >= $3 AND key < $4 ORDER BY first LIMIT $5
            """
    )

    // MARK: Whole stores

    /// All tables, with that of the stores last: rows in the others do not belong to a store unless it has a row there.
    static let tables = [
        ("hs_meta", "key, value"), ("hs_record", "entity, id, body"), ("hs_index", "number, key, id"),
        ("hs_history", "token, sequence, body"), ("hs_digest", "entity, first, body"),
        ("hs_evidence", "number, line"),
        ("hs_store", "format, version, meta, last_writes, token, digests, meta_sum"),
    ]

    /// Copies a store's rows in a table to another store. In the table of the stores, the copy gets the name `$3`.
    static let copies = tables.map { table, columns in
        let isStore = table == "hs_store"
        return PostgresStatement(
            name: "hs_copy_\(table)",
            text: "INSERT INTO \(table) (store, \(columns)\(isStore ? ", name" : "")) "
                + "SELECT $2, \(columns)\(isStore ? ", $3" : "") FROM \(table) WHERE store = $1"
        )
    }

    /// Removes a store's rows in a table.
    static let removals = tables.map { table, _ in
        PostgresStatement(name: "hs_remove_\(table)", text: "DELETE FROM \(table) WHERE store = $1")
    }

    /// All statements.
    static let all: [PostgresStatement] =
        [
            setLockTimeout, setIdleTimeout, setWholeTables, beginRead, beginWrite, beginCopy, commit, rollback, head,
            lockedHead,
            lastToken,
            metadata,
            makeStore, leftovers, advance, touch, record, taken, digest, digests, allDigests,
            recordNumbers, indexNumbers, history, putRecords, removeRecord,
            putKeys,
            removeKey,
            putMetadata, removeMetadata, appendHistory, pruneHistory, putDigests, removeDigests, removeEntity,
            removeIndexes,
            evidence, lastEvidence, addEvidence, removeEvidence, firstIdentifiers, setting,
        ] + copies + removals
        + Source.allCases.flatMap { source in
            [false, true].flatMap { [walk(source, reverse: $0), walkSeveral(source, reverse: $0)] } + [count(source)]
        }
}
