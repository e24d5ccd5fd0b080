import Foundation

/// One step of a store's live queries, from the moment that they have come to, to that of a transaction.
struct LiveStep {
    /// The changes of one entity's records since the moment before.
    private struct Changes {
        /// The attributes of each that were changed; nil where it came or went.
        private(set) var byRecord: [UUID: Set<String>?] = [:]

        mutating func note(_ change: HistoryChange) {
            var attributes: Set<String>?
            if case .update(let updated) = change.kind { attributes = Set(updated) }
            if let known = byRecord[change.id] {
                if LiveMutant.isPlanted(.firstChangeCounts) { return }
                attributes = known.flatMap { known in attributes.map { known.union($0) } }
            }
            byRecord.updateValue(attributes, forKey: change.id)
        }
    }

    /// A query whose answer is patched.
    private struct Patched {
        let query: any LiveQuery
        let matcher: RowMatcher
    }

    /// More records than these that refer to one that has changed are not judged one by one.
    private static let mostReferring = 256

    private let queries: LiveQueries
    private let transaction: any ReadTransaction
    /// The moment that the queries were brought to.
    private(set) var token = HistoryToken.zero
    /// The same, with what tells it from that of another history.
    private(set) var moment: HistoryPosition?
    /// How many transactions have been since the moment before.
    private(set) var transactions: Int64 = 0
    /// Whether the store's history is another one than that of the moment before.
    private(set) var isReplaced = false
    /// The queries whose answers may be others now.
    private(set) var told: [any LiveQuery] = []

    init(_ queries: LiveQueries, _ transaction: any ReadTransaction) {
        (self.queries, self.transaction) = (queries, transaction)
    }

    /// Brings all queries to the transaction's moment.
    ///
    /// - Parameters:
    ///   - fresh: those that were not asked yet.
    ///   - isCheck: whether it is made sure that the moment before is the store's, also where nothing seems to have happened.
    mutating func take(_ fresh: [any LiveQuery], isCheck: Bool) throws {
        let information = try transaction.information()
        token = information.token
        if let before = queries.position.withLock({ $0 }) {
            if before.token < token {
                queries.count { $0.steps += 1 }
                transactions = token.rawValue - before.token.rawValue
            }
            switch try goOn(from: before, information, fresh, isCheck) {
            case .same: break
            case .unknown: try askAnew(but: fresh, .changed)
            case .replaced: try askAnew(but: fresh, .requeried)
            }
        }
        if moment == nil { moment = try HistoryPosition(transaction, information) }
        for query in fresh { try ask(query, .first) }
        if !fresh.isEmpty { queries.forgetRoutes() }
    }

    private mutating func askAnew(but fresh: [any LiveQuery], _ cause: ResultsChangeCause) throws {
        for query in queries.asked(but: fresh) { try ask(query, cause) }
        queries.forgetRoutes()
    }

    /// Applies the changes since a moment, if the store still has them.
    ///
    /// - Returns: false if the queries have to be repeated.
    private mutating func goOn(
        from before: HistoryPosition,
        _ information: StoreInformation,
        _ fresh: [any LiveQuery],
        _ isCheck: Bool
    ) throws -> HistoryPosition.Continuity {
        if before.token == token, !isCheck, before.isOf(information) {
            moment = before
            return .same
        }
        guard information.historyFloor <= before.token else {
            return LiveMutant.isPlanted(.lostRestart) ? .same : .replaced
        }
        let routes = queries.routes(but: fresh, transaction.schema)
        var known = before.continuity(in: information)
        if before.token == token || routes.isEmpty {
            known = try before.continuity(transaction, information)
        } else if known == nil || known == .same {
            let isSame = try patch(routes, since: before, isToBeCompared: known == nil, information)
            known = isSame ? .same : .replaced
        }
        isReplaced = known == .replaced
        return known ?? .unknown
    }

    private mutating func ask(_ query: any LiveQuery, _ cause: ResultsChangeCause) throws {
        queries.countAnswer(isPatched: false)
        told.append(query)
        try ending(query) { try query.ask(transaction, at: token, cause) }
    }

    /// An error in the query itself, or in a record that it reads, ends only this query.
    private func ending(_ query: any LiveQuery, _ body: () throws -> Void) throws {
        do { try body() } catch { try end(query, error) }
    }

    /// - Throws: the error, where it is one of the store's.
    private func end(_ query: any LiveQuery, _ error: any Error) throws {
        if let error = error as? HabitStoreError, !Self.ownErrors.contains(error.code) { throw error }
        queries.end(query, error)
    }

    private static let ownErrors: Set<HabitStoreError.Code> = [
        .evaluationFailed, .invalidQuery, .unsupported, .unreadableValue, .unknownEntity, .unknownAttribute,
        .internalInconsistency, .invalidValue,
    ]

    // MARK: Patching

    /// - Parameter isToBeCompared: whether to check that the last known transaction is still in the history.
    /// - Returns: false if it is not; then nothing is patched.
    private mutating func patch(
        _ routes: LiveRoutes,
        since before: HistoryPosition,
        isToBeCompared: Bool,
        _ information: StoreInformation
    ) throws -> Bool {
        var changes: [String: Changes] = [:]
        var count = 0
        var isSame = !isToBeCompared
        var last: HistoryTransaction?
        // The last known transaction is read again, together with the next ones.
        let start = isToBeCompared ? HistoryToken(rawValue: before.token.rawValue - 1) : before.token
        try transaction.enumerateHistory(after: start) { written in
            if !isSame {
                isSame = before.isAfter(written)
                return isSame
            }
            last = written
            for change in written.changes {
                count += 1
                guard routes.leadSomewhere(change) else { continue }
                changes[change.entity, default: Changes()].note(change)
            }
            return true
        }
        guard isSame else { return false }
        moment = HistoryPosition(token, information, last)
        queries.count { $0.changes += count }
        try patch(routes, changes)
        return true
    }

    private mutating func patch(_ routes: LiveRoutes, _ changes: [String: Changes]) throws {
        guard !changes.isEmpty else { return }
        var asked: [ObjectIdentifier: any LiveQuery] = [:]
        var concerned: [Int: [UUID: [any LiveQuery]]] = [:]
        for (name, changes) in changes {
            for (id, attributes) in changes.byRecord {
                for route in routes.of(name, attributes) where asked[ObjectIdentifier(route.query)] == nil {
                    switch route.effect {
                    case .asks: asked[ObjectIdentifier(route.query)] = route.query
                    case .judges(let needsToBeHeld):
                        if needsToBeHeld, !route.query.holds(id) { continue }
                        concerned[route.entity, default: [:]][id, default: []].append(route.query)
                    case .judgesReferring(let attribute):
                        guard let referring = try referring(to: id, route.entity, attribute) else {
                            asked[ObjectIdentifier(route.query)] = route.query
                            continue
                        }
                        for id in referring {
                            concerned[route.entity, default: [:]][id, default: []].append(route.query)
                        }
                    }
                }
            }
        }
        var patched: [ObjectIdentifier: Patched] = [:]
        for (entity, records) in concerned {
            for (id, queries) in records {
                try judge(entity, id, queries.filter { asked[ObjectIdentifier($0)] == nil }, &patched)
            }
        }
        for (identifier, patched) in patched {
            queries.countAnswer(isPatched: true)
            told.append(patched.query)
            if patched.query.finish(at: token) { asked[identifier] = patched.query }
        }
        for query in asked.values { try ask(query, .changed) }
        for (identifier, patched) in patched where asked[identifier] == nil { try compare(patched.query) }
    }

    /// The records that refer to one by an attribute; nil where they are too many to be judged one by one.
    private func referring(to id: UUID, _ entity: Int, _ attribute: Int) throws -> [UUID]? {
        let description = transaction.schema.entities[entity].attributes[attribute]
        var query = BoundQuery(
            entity: entity,
            filter: .compare(
                .equal,
                .attribute(
                    BoundPath(variable: 0, hops: []),
                    position: attribute,
                    kind: .uuid,
                    isOptional: description.isOptional
                ),
                .literal(.uuid(id))
            ),
            limit: Self.mostReferring + 1,
            projection: [0]
        )
        query.isUnordered = true
        var found: [UUID] = []
        try transaction.enumerateRows(PreparedFetch(query, filter: .always)) { row in
            found.append(try row.identifier())
            return true
        }
        return found.count > Self.mostReferring ? nil : found
    }

    /// Reads a record once for all queries that it concerns.
    private func judge(
        _ entity: Int,
        _ id: UUID,
        _ concerned: [any LiveQuery],
        _ patched: inout [ObjectIdentifier: Patched]
    ) throws {
        var judges: [Patched] = []
        for query in concerned {
            if let known = patched[ObjectIdentifier(query)] {
                judges.append(known)
            } else {
                try ending(query) {
                    let made = Patched(query: query, matcher: try query.matcher(in: transaction))
                    patched[ObjectIdentifier(query)] = made
                    judges.append(made)
                }
            }
        }
        guard !judges.isEmpty else { return }
        queries.count { $0.recordsRead += 1 }
        var failures: [(any LiveQuery, any Error)] = []
        let isThere = try transaction.withRow(entity: entity, id: id) { row in
            for judge in judges {
                row.rewind()
                do {
                    try judge.query.judge(id, &row, judge.matcher)
                } catch {
                    failures.append((judge.query, error))
                }
            }
        }
        for (query, error) in failures {
            try end(query, error)
            patched[ObjectIdentifier(query)] = nil
        }
        if !isThere, !LiveMutant.isPlanted(.lostDeletion) { for judge in judges { judge.query.remove(id) } }
    }

    /// Repeats a patched query now and then, and compares.
    private func compare(_ query: any LiveQuery) throws {
        guard queries.comparesPatch() else { return }
        queries.count { $0.compared += 1 }
        var found: String?
        try ending(query) { found = try query.compare(transaction, at: token) }
        guard let difference = found else { return }
        queries.count { $0.different += 1 }
        queries.forgetRoutes()
        queries.report(difference)
    }
}
