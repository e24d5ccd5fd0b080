import Foundation
@_spi(Engines) import HabitStore
import Trials

/// A store that leaves rows out of its answers when a test wants that.
final class ForgetfulStore: EngineBackedStore {
    /// Whether to leave a row out of a fetch.
    typealias Omission = @Sendable (PreparedFetch, borrowing AttributeReader) throws -> Bool

    let core: EngineStore<InMemoryEngine>
    private let omits: Omission

    init(_ truth: InMemoryHabitStore, _ omits: @escaping Omission) {
        core = truth.core
        self.omits = omits
    }

    func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        try core.read { try body(ForgetfulTransaction($0, omits)) }
    }
}

/// A read transaction of a ``ForgetfulStore``.
private final class ForgetfulTransaction: InterceptingTransaction {
    let base: any ReadTransaction
    private let omits: ForgetfulStore.Omission

    init(_ base: any ReadTransaction, _ omits: @escaping ForgetfulStore.Omission) {
        self.base = base
        self.omits = omits
    }

    func enumerateRows(
        _ fetch: PreparedFetch,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        try base.enumerateRows(fetch) { row in try omits(fetch, row) ? true : body(&row) }
    }

    func count(_ fetch: PreparedFetch) throws -> Int {
        var count = 0
        _ = try enumerateRows(fetch) { _ in
            count += 1
            return true
        }
        return count
    }
}
