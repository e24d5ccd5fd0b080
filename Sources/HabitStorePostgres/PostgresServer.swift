import HabitStore

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
