@_spi(Engines) import HabitStore

/// A server for stores.
public struct PostgresServer: Sendable {
    /// The connection URI.
    public let uri: String

    /// Creates a reference to a server.
    ///
    /// - Parameter uri: a libpq connection URI without a password; missing settings come from the environment (`PGHOST`,
    ///   `PGSERVICE`, `PGPASSFILE`).
    /// - Throws: ``HabitStore/HabitStoreError/Code/invalidValue`` for one with a password.
    public init(_ uri: String) throws { self.uri = try PostgresPlace.server(uri) }

    /// Creates the missing tables.
    ///
    /// - Throws: the errors of the server.
    public func prepare() throws {
        try ask { connection, pool in
            for statement in PostgresTables.statements {
                do {
                    _ = try connection.run([PostgresCall(statement)], until: pool.answerDeadline)
                } catch PostgresOutcome.refused(let failure) where Self.meanwhileMade.contains(failure.state ?? "") {
                    // Now the table exists, and the server sees it.
                    _ = try connection.run([PostgresCall(statement)], until: pool.answerDeadline)
                }
            }
        }
    }

    /// The server's answers to one of two clients that create the same table at the same time, even with `IF NOT EXISTS`.
    private static let meanwhileMade: Set<String> = ["23505", "42P07"]

    /// What the server lacks to keep what it acknowledges, one line each; empty if it lacks nothing.
    ///
    /// - Throws: the errors of the server.
    public func check() throws -> [String] {
        try ask { connection, pool in
            let settings = [
                "server_version_num", "synchronous_commit", "fsync", "full_page_writes", "synchronous_standby_names",
                "server_encoding",
            ]
            let answers = try connection.run(
                settings.map { PostgresCall(.setting, .text($0)) } + PostgresTableCheck.calls,
                until: pool.answerDeadline
            )
            let values = try answers.prefix(settings.count).map { $0.bytes(0, 0) == nil ? "" : try $0.text(0, 0) }
            var lacks: [String] = []
            if let version = Int(values[0]), version < 130_000 {
                lacks.append("it is of version \(version / 10_000), and stores need 13 or later")
            }
            if !["on", "remote_apply"].contains(values[1]) {
                lacks.append(
                    "synchronous_commit is \(values[1]): a commit is acknowledged before it is durable; set it to on"
                )
            }
            if values[2] == "off" { lacks.append("fsync is off: a crash of the machine damages it; set it to on") }
            if values[3] == "off" {
                lacks.append("full_page_writes is off: a crash of the machine may damage it; set it to on")
            }
            if values[4].isEmpty {
                lacks.append(
                    "synchronous_standby_names is empty: what is acknowledged is on one machine only; set it to ANY 1 (…)"
                )
            }
            if values[5] != "UTF8" {
                lacks.append(
                    "the database's encoding is \(values[5]), in which not every store's name can be written; use one in UTF8"
                )
            }
            return try lacks + PostgresTableCheck(Array(answers.dropFirst(settings.count))).lacks
        }
    }

    /// Copies a store at one moment to an unused name. Writers may continue meanwhile.
    func copy(_ place: PostgresPlace, to target: PostgresPlace) throws {
        try copy(place, to: target, PostgresCall(.beginCopy), PostgresCall(.head, .uuid(place.store)), behind: [])
    }

    /// Renames a store to an unused name.
    func move(_ place: PostgresPlace, to target: PostgresPlace) throws {
        let store = PostgresValue.uuid(place.store)
        let removals = PostgresStatement.removals.map { PostgresCall($0, store) }
        try copy(place, to: target, PostgresCall(.beginWrite), PostgresCall(.lockedHead, store), behind: removals)
    }

    private func copy(
        _ place: PostgresPlace,
        to target: PostgresPlace,
        _ begin: PostgresCall,
        _ head: PostgresCall,
        behind: [PostgresCall]
    ) throws {
        guard place.server == target.server else {
            throw PostgresError.error(
                .unsupported,
                "a store is copied to another server with `\(OperatorCommand.name) copy`",
                at: target.description
            )
        }
        try change { connection, pool in
            let (source, copy) = (PostgresValue.uuid(place.store), PostgresValue.uuid(target.store))
            let found = try connection.run([begin, head, PostgresCall(.head, copy)], until: pool.answerDeadline)
            guard found[1].count > 0 else {
                throw PostgresError.error(.notFound, "the server has no store of this name", at: place.description)
            }
            guard found[2].count == 0 else {
                throw PostgresError.error(.unsupported, "there is a store of this name already", at: target.description)
            }
            // The time for copying depends on the store's size, so each table has a separate wait.
            for (position, statement) in PostgresStatement.copies.enumerated() {
                let isStore = position == PostgresStatement.copies.count - 1
                let call = PostgresCall(statement, [source, copy] + (isStore ? [.text(target.name)] : []))
                _ = try connection.run([call], until: .after(seconds: Self.copyWaitSeconds))
            }
            _ = try connection.run(behind + [PostgresCall(.commit)], until: .after(seconds: Self.copyWaitSeconds))
        }
    }

    /// How long the server may take to copy a store's rows in one table, in seconds.
    private static let copyWaitSeconds = 600.0

    /// Removes a store's rows.
    func remove(_ place: PostgresPlace) throws {
        try change { connection, pool in
            let store = PostgresValue.uuid(place.store)
            _ = try connection.run(
                [PostgresCall(.beginWrite), PostgresCall(.lockedHead, store)]
                    + PostgresStatement.removals.map { PostgresCall($0, store) } + [PostgresCall(.commit)],
                until: pool.answerDeadline
            )
        }
    }

    /// Runs a transaction that is rolled back unless it is committed.
    private func change(_ body: (PostgresConnection, PostgresPool) throws -> Void) throws {
        try ask { connection, pool in
            defer { if connection.isInTransaction { connection.post(PostgresCall(.rollback)) } }
            try body(connection, pool)
        }
    }

    private func ask<R>(_ body: (PostgresConnection, PostgresPool) throws -> R) throws -> R {
        let pool = PostgresPool.of(uri)
        do {
            return try pool.withConnection(until: pool.deadline) { try body($0, pool) }
        } catch let outcome as PostgresOutcome {
            throw outcome.error(during: "asking the server", at: uri)
        }
    }
}

/// Finds what is wrong with the tables on a server, as the connected user sees them.
struct PostgresTableCheck {
    /// Queries the tables, one row each, and their columns. Stores do not depend on it, so it may use features that some products
    /// lack.
    static let calls = [
        PostgresCall(tables, .texts(PostgresTables.all.map(\.name))),
        PostgresCall(columns, .texts(PostgresTables.all.map(\.name))),
    ]

    /// What each name refers to, according to `search_path`.
    private static let tables = PostgresStatement(
        name: "hs_check_tables",
        text: """
            SELECT n.name, s.nspname::text, c.relpersistence::text, c.relkind::text, c.relrowsecurity,
            (SELECT string_agg(t.tgname, ', ' ORDER BY t.tgname) FROM pg_trigger t
            WHERE t.tgrelid = c.oid AND NOT t.tgisinternal),
            (SELECT string_agg(r.rulename, ', ' ORDER BY r.rulename) FROM pg_rewrite r WHERE r.ev_class = c.oid),
            (SELECT string_agg(p.name, ', ') FROM unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS p (name)
            WHERE NOT has_table_privilege(c.oid, p.name)),
            (SELECT string_agg(os.nspname, ', ' ORDER BY os.nspname) FROM pg_class o JOIN pg_namespace os ON os.oid = o.relnamespace
            WHERE o.relname = n.name AND o.oid <> c.oid AND os.nspname = ANY(current_schemas(true))),
            (SELECT string_agg(k.attname, ', ' ORDER BY array_position(i.indkey::smallint[], k.attnum)) FROM pg_index i
            JOIN pg_attribute k ON k.attrelid = c.oid AND k.attnum = ANY(i.indkey::smallint[])
            WHERE i.indrelid = c.oid AND i.indisprimary)
            FROM unnest($1::text[]) AS n (name) JOIN pg_class c ON c.oid = to_regclass(n.name)
            JOIN pg_namespace s ON s.oid = c.relnamespace
            """
    )

    /// Each table's columns, with their types and whether an insert must provide a value.
    private static let columns = PostgresStatement(
        name: "hs_check_columns",
        text: """
            SELECT n.name, a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull AND NOT a.atthasdef
            FROM unnest($1::text[]) AS n (name) JOIN pg_attribute a ON a.attrelid = to_regclass(n.name)
            WHERE a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
            """
    )

    /// One line for each problem; empty if there is none.
    private(set) var lacks: [String] = []

    /// - Parameter answers: the answers to ``calls``.
    init(_ answers: [PostgresResult]) throws {
        let (tables, columns) = (answers[0], answers[1])
        guard tables.count > 0 else {
            lacks = ["it has no tables for stores; run `habitstore server prepare`"]
            return
        }
        var schemas: Set<String> = []
        for table in PostgresTables.all {
            guard let row = try (0..<tables.count).first(where: { try tables.text($0, 0) == table.name }) else {
                lacks.append(
                    "it has no table \(table.name), or the user may not see it; run `habitstore server prepare`"
                )
                continue
            }
            schemas.insert(try tables.text(row, 1))
            try check(table, tables, row)
            try checkColumns(table, columns)
        }
        if schemas.count > 1 {
            lacks.append(
                "the tables are in several schemas (\(schemas.sorted().joined(separator: ", "))); set search_path to one of them"
            )
        }
    }

    private mutating func check(_ table: PostgresTables.Table, _ answer: PostgresResult, _ row: Int) throws {
        let name = table.name
        func list(_ column: Int) throws -> String? {
            answer.bytes(row, column) == nil ? nil : try answer.text(row, column)
        }
        switch try answer.text(row, 2) {
        case "u":
            lacks.append(
                "\(name) is unlogged: a crash of the server empties it, and a standby has none of it; set it to LOGGED"
            )
        case "t": lacks.append("\(name) is a temporary table: it goes with its connection; drop it")
        default: break
        }
        let kind = try answer.text(row, 3)
        if kind != "r", kind != "p" {
            lacks.append("\(name) is not a table; drop it, and run `habitstore server prepare`")
        }
        if try answer.number(row, 4, as: UInt8.self) != 0 {
            lacks.append("\(name) has row level security, by which rows are hidden from some users; disable it")
        }
        if let triggers = try list(5) {
            lacks.append("\(name) has triggers (\(triggers)), which may change what is written; drop them")
        }
        if let rules = try list(6) {
            lacks.append("\(name) has rules (\(rules)), which may change what is asked and written; drop them")
        }
        if let rights = try list(7) {
            lacks.append("the user lacks rights on \(name) (\(rights)); grant them")
        }
        if let others = try list(8) {
            lacks.append(
                "there is another \(name) on search_path (that of \(try answer.text(row, 1)) is used, and not that of \(others)); "
                    + "drop one of them, or set search_path"
            )
        }
        let (key, wanted) = (try list(9) ?? "", table.key.joined(separator: ", "))
        if key != wanted { lacks.append("\(name) has the primary key (\(key)), and should have (\(wanted))") }
    }

    private mutating func checkColumns(_ table: PostgresTables.Table, _ answer: PostgresResult) throws {
        let rows = try (0..<answer.count).filter { try answer.text($0, 0) == table.name }
        for column in table.columns {
            guard let row = try rows.first(where: { try answer.text($0, 1) == column.name }) else {
                lacks.append("\(table.name) has no column \(column.name) (\(column.type)): it is of another version")
                continue
            }
            let type = try answer.text(row, 2)
            guard type != column.type else { continue }
            lacks.append("\(table.name).\(column.name) is of type \(type), and should be \(column.type)")
        }
        let names = Set(table.columns.map(\.name))
        for row in rows where try !names.contains(answer.text(row, 1)) && answer.number(row, 3, as: UInt8.self) != 0 {
            lacks.append("\(table.name) has a column \(try answer.text(row, 1)) that must be given a value; drop it")
        }
    }
}
