import Foundation
import Trials

@_spi(Engines) @testable import HabitStore

/// A store that answers like its base store, except for a ``Misanswer``.
final class MisansweringStore: InterceptingStore {
    let base: any UserStoreBackend
    private let misanswer: Misanswer

    init(_ base: any UserStoreBackend, _ misanswer: Misanswer) {
        self.base = base
        self.misanswer = misanswer
    }

    func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        try base.read { try body(MisansweringTransaction($0, misanswer)) }
    }

    func read<R>(while condition: ReadCondition, _ body: (any ReadTransaction) throws -> R) throws -> R {
        try base.read(while: condition) { try body(MisansweringTransaction($0, misanswer)) }
    }
}

/// A read transaction of a ``MisansweringStore``.
private final class MisansweringTransaction: InterceptingTransaction {
    let base: any ReadTransaction
    private let misanswer: Misanswer

    init(_ base: any ReadTransaction, _ misanswer: Misanswer) {
        self.base = base
        self.misanswer = misanswer
    }

    func withRow(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool {
        if misanswer == .lostByIdentifier, schema.entities[entity].name == "Entry" { return false }
        return try base.withRow(entity: entity, id: id, body)
    }

    func enumerateRows(
        _ fetch: PreparedFetch,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        guard misanswer.strikes(fetch, schema) else { return try base.enumerateRows(fetch, body) }
        var asked = fetch
        if misanswer == .shiftedPage { asked.query.offset += 1 }
        let layout = schema.entities[fetch.query.entity].layout
        return try enumerateRows(asked, changedBy: { try misanswer.change($0, fetch, layout) }, body)
    }

    func count(_ fetch: PreparedFetch) throws -> Int {
        let count = try base.count(fetch)
        guard misanswer.strikes(fetch, schema) else { return count }
        if misanswer == .failure { throw HabitStoreError(.evaluationFailed, "this engine cannot do that") }
        return misanswer == .miscount ? count + 1 : count
    }
}
