import Foundation
@_spi(Engines) import HabitStore
import OrderedKeys

/// A transaction on a server. It begins with the first query, and deferred statements are sent along with the next one, so that no
/// caller waits for an answer that it does not need.
final class PostgresSession {
    /// The store's own row.
    struct Head {
        /// The number of writes to the store.
        let version: Int64
        /// The version at which its bookkeeping was last changed.
        let meta: Int64
        /// The last token according to the row.
        let token: Int64
        /// The last token in the history.
        let lastToken: Int64
        /// The digests of the entities, in the form of ``PostgresTotals``.
        let digests: [UInt8]
        /// The checksum of the metadata.
        let metaSum: [UInt8]
    }

    private let connection: PostgresConnection
    private let catalog: PostgresCatalog
    private let wait: () -> Deadline
    let isWritable: Bool
    private var isBegun = false
    private(set) var isOver = false
    /// The row; nil before the first answer, or if there is no store.
    private(set) var head: Head?
    private(set) var bookkeeping: PostgresBookkeeping?
    /// The digest that opening needs, of the first numbered entity: it is fetched along with the bookkeeping.
    private var openingLeaf: PostgresResult?
    /// The conditions that must hold before an answer is returned.
    private var checks: [() throws -> Void] = []
    private var failedCheck: (any Error)?

    /// - Parameter wait: returns the deadline of the next answer.
    init(
        _ connection: PostgresConnection,
        _ catalog: PostgresCatalog,
        isWritable: Bool,
        wait: @escaping () -> Deadline
    ) {
        self.connection = connection
        self.catalog = catalog
        self.isWritable = isWritable
        self.wait = wait
        bookkeeping = catalog.bookkeeping
    }

    // MARK: Asking

    /// Asks the server, after beginning the transaction and checking the deferred conditions.
    func ask(_ calls: [PostgresCall]) throws -> [PostgresResult] {
        try requireChecks()
        let wasBegun = isBegun
        let expected = bookkeeping
        let answers = try run(beginning() + calls)
        guard !wasBegun else { return answers }
        let rest = try take(answers)
        try runChecks()
        // The calls were planned with indexes that may be gone or empty by now.
        if !calls.isEmpty, let expected,
            expected.metadata[KeyFormat.indexesKey] != bookkeeping?.metadata[KeyFormat.indexesKey]
        {
            throw PostgresError.error(
                .busy,
                "a program with other indexes has opened the store at this moment; try again",
                at: catalog.place
            )
        }
        return rest
    }

    /// The store's row in this transaction; nil if there is no store.
    func begun() throws -> Head? {
        if !isBegun { _ = try ask([]) }
        try requireChecks()
        return head
    }

    /// Defers a condition until the first answer, which is only returned if it holds.
    func check(_ condition: @escaping () throws -> Void) throws {
        guard !isBegun else { return try condition() }
        checks.append(condition)
    }

    /// Makes sure that the deferred conditions were checked, and throws if one failed, even if that error was ignored.
    func finishChecks() throws {
        if !checks.isEmpty { _ = try ask([]) }
        try requireChecks()
    }

    private func requireChecks() throws {
        if let failedCheck { throw failedCheck }
    }

    private func runChecks() throws {
        let checks = checks
        self.checks.removeAll()
        do {
            for check in checks { try check() }
        } catch {
            failedCheck = error
            throw error
        }
    }

    private static let lowest = IdentifierRange.all.first

    /// The answer to the query for a digest, if it was fetched along with the bookkeeping.
    func openingLeaf(_ entity: Int16, covering id: UUID) -> PostgresResult? {
        entity == 0 && id == Self.lowest ? openingLeaf : nil
    }

    private func beginning() -> [PostgresCall] {
        isBegun ? [] : [PostgresCall(isWritable ? .beginWrite : .beginRead)] + looking()
    }

    /// The queries for the store's own rows.
    private func looking() -> [PostgresCall] {
        var calls = [
            PostgresCall(isWritable ? .lockedHead : .head, .uuid(catalog.store)),
            PostgresCall(.lastToken, .uuid(catalog.store)),
        ]
        guard bookkeeping == nil else { return calls }
        calls.append(PostgresCall(.metadata, .uuid(catalog.store)))
        if !isWritable { calls.append(PostgresCall(.digest, .uuid(catalog.store), .int2(0), .uuid(Self.lowest))) }
        return calls
    }

    /// Creates the store's row, or waits for another transaction that does, and reads it again.
    ///
    /// - Returns: whether this transaction created it.
    func makeStore(named name: String) throws -> Bool {
        // A store that replaces a removed one must not reach a version that a process remembers of that one.
        let version = Int64.random(in: 0..<1 << 48)
        _ = try take(run([.makingStore(catalog.store, named: name, at: version)] + looking()))
        return head?.version == version
    }

    /// Reads the answers to the initial queries.
    ///
    /// - Returns: the answers after those.
    private func take(_ answers: [PostgresResult]) throws -> [PostgresResult] {
        isBegun = true
        var rest = answers.dropFirst()
        let (row, token) = (rest.removeFirst(), rest.removeFirst())
        let metadata = bookkeeping == nil ? rest.removeFirst() : nil
        if metadata != nil, !isWritable { openingLeaf = rest.removeFirst() }
        guard row.count > 0 else {
            bookkeeping = nil
            return Array(rest)
        }
        let format = try row.number(0, 0, as: Int16.self)
        guard format <= PostgresTables.format else {
            throw PostgresError.error(
                .newerVersion,
                "the store has format version \(format), and this version reads up to \(PostgresTables.format); update the program",
                at: catalog.place
            )
        }
        guard try row.text(0, 4) == catalog.name else {
            throw PostgresError.error(
                .staleStore,
                "the rows under this name are those of another store; they were moved past the program, so put them back",
                at: catalog.place
            )
        }
        let head = Head(
            version: try row.number(0, 1, as: Int64.self),
            meta: try row.number(0, 2, as: Int64.self),
            token: try row.number(0, 5, as: Int64.self),
            lastToken: token.count > 0 ? try token.number(0, 0, as: Int64.self) : 0,
            digests: Array(row.bytes(0, 6) ?? UnsafeRawBufferPointer(start: nil, count: 0)),
            metaSum: Array(row.bytes(0, 7) ?? UnsafeRawBufferPointer(start: nil, count: 0))
        )
        self.head = head
        if let metadata {
            try note(metadata, head)
        } else if bookkeeping?.version != head.meta {
            try note(try run([PostgresCall(.metadata, .uuid(catalog.store))])[0], head)
        }
        return Array(rest)
    }

    private func note(_ metadata: PostgresResult, _ head: Head) throws {
        let values = try PostgresBookkeeping.metadata(metadata)
        var found = try PostgresBookkeeping(version: head.meta, metadata: values, catalog)
        found.isAsWritten = PostgresTotals.sum(of: values) == head.metaSum
        bookkeeping = found
        catalog.bookkeeping = found
    }

    private func run(_ calls: [PostgresCall]) throws -> [PostgresResult] {
        guard !isOver else { throw HabitStoreError(.transactionEnded, "a transaction was used after it had ended") }
        do {
            return try connection.run(calls, until: wait())
        } catch let outcome as PostgresOutcome {
            throw outcome.error(during: isWritable ? "writing" : "reading", at: catalog.place)
        }
    }

    // MARK: The end

    /// Ends the transaction without effect, and does not wait for the server's answer.
    func end() {
        guard !isOver else { return }
        isOver = true
        if isBegun || connection.isInTransaction { connection.post(PostgresCall(.rollback)) }
    }

    /// Sends the remaining statements and the commit.
    ///
    /// - Throws: ``PostgresOutcome``.
    func commit(_ calls: [PostgresCall]) throws {
        isOver = true
        _ = connection.tookNotice("01000")
        let answers: [PostgresResult]
        do {
            answers = try connection.run(calls + [PostgresCall(.commit)], until: wait())
        } catch {
            if connection.isInTransaction { connection.post(PostgresCall(.rollback)) }
            throw error
        }
        guard answers.last?.command == "COMMIT" else {
            throw PostgresOutcome.refused(
                PostgresFailure(state: nil, message: "the server has undone the transaction instead of committing it")
            )
        }
        // The server stopped waiting for a standby: the row exists, but may be lost with this server.
        if connection.tookNotice("01000") {
            throw PostgresOutcome.lost(
                PostgresFailure(state: "01000", message: "the server does not know whether its standby has the commit")
            )
        }
    }
}

extension PostgresCall {
    /// Creates a store's row if there is none, or waits for another transaction that does.
    static func makingStore(_ store: UUID, named name: String, at version: Int64) -> PostgresCall {
        PostgresCall(
            .makeStore,
            .uuid(store),
            .int2(PostgresTables.format),
            .text(name),
            .bytes(PostgresTotals.sum(of: [:])),
            .int8(version)
        )
    }
}

extension UUID {
    /// The bytes of the UUID.
    var byteList: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }
}

extension PostgresOutcome {
    /// The error for an operation that committed nothing.
    func error(during action: String, at place: String) -> HabitStoreError {
        switch self {
        case .refused(let failure), .lost(let failure): PostgresError.error(failure, during: action, at: place)
        }
    }
}
