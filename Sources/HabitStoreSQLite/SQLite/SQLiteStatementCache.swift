/// The prepared statements of a connection by their SQL. A full cache evicts the least recently used.
final class SQLiteStatementCache {
    private let capacity: Int
    private var statements: [String: SQLiteStatement] = [:]
    /// The most recent additions, in order. Repeated work uses the same statement, or, as in a commit, the same ones in the same
    /// order, and finds each of them after the one before it without hashing its SQL.
    private var recent: [SQLiteStatement] = []
    /// The position of the last one that was found.
    private var last = 0
    private static let recentCount = 16
    private var clock: UInt64 = 0
    /// The number of statements that were prepared.
    private(set) var preparations = 0

    init(capacity: Int) { self.capacity = max(1, capacity) }

    /// The number of cached statements.
    var count: Int { statements.count }

    /// A statement that is not in use. If the cached one is, as in a query inside a query, this is a new one.
    func borrow(_ sql: String, prepare: (_ isKept: Bool) throws -> SQLiteStatement) throws -> SQLiteStatement {
        clock += 1
        if let kept = find(sql) {
            if !kept.isBorrowed {
                kept.isBorrowed = true
                kept.lastUse = clock
                return kept
            }
            preparations += 1
            return try prepare(false)
        }
        let statement = try prepare(true)
        preparations += 1
        statement.isBorrowed = true
        statement.lastUse = clock
        if statements.count >= capacity { evictOne() }
        if statements.count < capacity {
            statements[sql] = statement
            statement.isKept = true
            remember(statement)
        }
        return statement
    }

    /// Borrows a known statement again if it is still in the cache and not in use.
    func borrow(_ statement: SQLiteStatement) -> Bool {
        guard statement.isKept, !statement.isBorrowed else { return false }
        clock += 1
        statement.isBorrowed = true
        statement.lastUse = clock
        return true
    }

    private func find(_ sql: String) -> SQLiteStatement? {
        if last < recent.count, recent[last].sql == sql { return recent[last] }
        for offset in 1..<max(1, recent.count) {
            let place = (last + offset) % recent.count
            guard recent[place].sql == sql else { continue }
            last = place
            return recent[place]
        }
        guard let kept = statements[sql] else { return nil }
        remember(kept)
        return kept
    }

    private func remember(_ statement: SQLiteStatement) {
        if recent.count < Self.recentCount {
            last = recent.count
            recent.append(statement)
        } else {
            last = (last + 1) % recent.count
            recent[last] = statement
        }
    }

    /// Ends the use of a statement: resets it and unbinds its parameters.
    func giveBack(_ statement: SQLiteStatement) {
        statement.clear()
        statement.isBorrowed = false
    }

    /// Releases all statements.
    func removeAll() {
        for statement in statements.values { statement.isKept = false }
        statements.removeAll()
        recent.removeAll()
    }

    private func evictOne() {
        // Searching all of them costs less than the preparation that made it necessary.
        let idle = statements.lazy.filter { !$0.value.isBorrowed }
        guard let oldest = idle.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
        oldest.value.isKept = false
        statements[oldest.key] = nil
        recent.removeAll { $0 === oldest.value }
    }
}
