import Foundation
import Synchronization

/// A store's history as it grows: each transaction once, in order, without an end.
public struct LiveHistory: AsyncSequence, Sendable {
    let store: any HabitStore
    let token: HistoryToken

    /// How many transactions one read fetches.
    private static let batch = 256

    /// Begins to follow the history, with the first call of its `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(store: store, token: token) }

    /// One consumer's transactions.
    public struct Iterator: AsyncIteratorProtocol {
        private let store: any HabitStore
        private var token: HistoryToken
        /// The moment of the token; nil if it was never read.
        private var moment: HistoryPosition?
        /// The store that what was read came from.
        private var origin: StoreInformation?
        private var read: ArraySlice<HistoryTransaction> = []
        private var listening: LiveListening?

        init(store: any HabitStore, token: HistoryToken) { (self.store, self.token) = (store, token) }

        /// The next transaction; nil after the task was cancelled.
        ///
        /// - Throws: ``HabitStoreError/Code/historyExpired`` if the next transaction was pruned, or if the last one is not in the store's history: the
        ///   store was restored to an earlier moment, perhaps written to since, or replaced by an unrelated one. Read the records again, and continue
        ///   from the token of that read. ``HabitStoreError/Code/fileMoved`` if the store's path no longer leads to its file.
        public mutating func next() async throws -> HistoryTransaction? {
            let listening = try listening ?? LiveListening(store)
            self.listening = listening
            while true {
                if let next = read.popFirst() {
                    token = next.token
                    // Only the last transaction is checked against the next read.
                    if read.isEmpty, let origin { moment = HistoryPosition(token, origin, next) }
                    return next
                }
                guard let found = try await moreHistory() else { return nil }
                (origin, moment, read) = (found.origin, found.moment, found.transactions)
                if read.isEmpty, try await listening.listener.next() == nil { return nil }
            }
        }

        private struct Found {
            let origin: StoreInformation
            /// The moment after which the transactions come, as the store has it.
            let moment: HistoryPosition
            let transactions: ArraySlice<HistoryTransaction>
        }

        /// The store's state and its next transactions; nil after the task was cancelled.
        private func moreHistory() async throws -> Found? {
            let (token, moment) = (token, moment)
            do {
                return try await LiveQueries.readPatiently(store) { transaction in
                    try Self.read(transaction, after: token, moment)
                }
            } catch is CancellationError {
                return nil
            }
        }

        private static func read(
            _ transaction: any ReadTransaction,
            after token: HistoryToken,
            _ moment: HistoryPosition?
        ) throws -> Found {
            let information = try transaction.information()
            let known = moment?.continuity(in: information)
            guard token <= information.token else { throw ahead(token, information, wasTold: moment != nil) }
            guard known != .replaced else { throw replaced(token) }
            // The last transaction is read again, together with the next ones.
            let isThere = token > information.historyFloor
            let start = isThere ? HistoryToken(rawValue: token.rawValue - 1) : token
            var found = try transaction.fetchHistory(after: start, limit: LiveHistory.batch)[...]
            let told = isThere ? found.popFirst() : nil
            if let moment, known == nil, !moment.isAfter(told) { throw replaced(token) }
            return Found(
                origin: information,
                moment: HistoryPosition(token, information, told),
                transactions: found
            )
        }

        private static func ahead(
            _ token: HistoryToken,
            _ information: StoreInformation,
            wasTold: Bool
        ) -> HabitStoreError {
            let here = information.token
            return HabitStoreError(
                .historyExpired,
                wasTold
                    ? "the store was restored or replaced: it is at token \(here), and token \(token) was already delivered; "
                        + "read what you need again, and start from its token"
                    : "the store is at token \(here) and has not reached token \(token); start from a token that it has"
            )
        }

        private static func replaced(_ token: HistoryToken) -> HabitStoreError {
            HabitStoreError(
                .historyExpired,
                "the store was restored or replaced: the changes delivered up to token \(token) are not its history; "
                    + "read what you need again, and start from its token"
            )
        }
    }
}

extension HabitStore {
    /// The transactions after a token, written by this process or by others, as they arrive.
    public func changes(after token: HistoryToken) -> LiveHistory { LiveHistory(store: self, token: token) }
}

/// The tokens of a store that is being written to: the current one immediately, then the newest whenever there is one that the consumer has not
/// received. For views that show more than one fetch.
///
/// After a restore or a replacement the store's token is sent again, even if it is lower or the same.
public struct LiveTokens: AsyncSequence, Sendable {
    let store: any HabitStore

    /// Begins to follow the store, with the first call of its `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(store: store) }

    /// One consumer's tokens.
    public struct Iterator: AsyncIteratorProtocol {
        private let store: any HabitStore
        private var listening: LiveListening?

        init(store: any HabitStore) { self.store = store }

        /// The next token; nil once the task was cancelled.
        ///
        /// - Throws: what is wrong with the store, for longer than ten seconds where it may pass.
        public mutating func next() async throws -> HistoryToken? {
            let listening = try listening ?? LiveListening(store)
            self.listening = listening
            return try await listening.listener.next()
        }
    }
}

extension HabitStore {
    /// The store's current token and every newer one, whichever process writes.
    public func tokens() -> LiveTokens { LiveTokens(store: self) }
}

/// A consumer of a store's tokens; releases the store when it goes.
final class LiveListening: Sendable {
    let listener = LiveListener()
    private let queries: LiveQueries

    init(_ store: any HabitStore) throws {
        queries = store.liveQueries
        try queries.add(listener, to: store)
    }

    deinit { queries.remove(listener) }
}

/// A token that a consumer has received, with enough to tell it from the same number in another history: a store that was restored, or
/// replaced by another one, continues from its own token and reaches the same numbers again.
struct HistoryPosition: Sendable {
    /// Whether the history up to a moment is the beginning of a store's history.
    enum Continuity {
        case same
        /// The history was pruned that far, and another store answers, or the same one after a move: nothing tells.
        case unknown
        case replaced
    }

    let token: HistoryToken
    private let lineage: UUID
    private let store: UUID
    private let epoch: Int
    /// The hash of the transaction that led to it; nil where there is none, or it was pruned.
    private let transaction: Int?

    /// - Parameter transaction: the one that led to the moment; nil where there is none, or it was pruned.
    init(_ token: HistoryToken, _ information: StoreInformation, _ transaction: HistoryTransaction?) {
        (self.token, lineage, store, epoch) = (token, information.lineage, information.storeID, information.epoch)
        self.transaction = transaction?.hashValue
    }

    /// The present moment of a transaction.
    init(_ reading: any ReadTransaction, _ information: StoreInformation) throws {
        let transaction = try Self.transaction(at: information.token, reading, information)
        self.init(information.token, information, transaction)
    }

    /// Whether a store is the one that it was, at the same epoch.
    func isOf(_ information: StoreInformation) -> Bool {
        store == information.storeID && epoch == information.epoch && lineage == information.lineage
    }

    /// Whether a store has the moment, as far as that can be said without its history; nil where its transaction at the token
    /// tells, and is there: ``isAfter(_:)``.
    func continuity(in information: StoreInformation) -> Continuity? {
        guard lineage == information.lineage, token <= information.token else { return .replaced }
        if token == .zero { return .same }
        if transaction != nil, information.historyFloor < token { return nil }
        if isOf(information) { return .same }
        return information.epoch < epoch ? .replaced : .unknown
    }

    /// Whether a transaction is the one that led to this moment.
    func isAfter(_ transaction: HistoryTransaction?) -> Bool {
        transaction?.token == token && transaction?.hashValue == self.transaction
    }

    /// Whether a store has the moment.
    func continuity(_ reading: any ReadTransaction, _ information: StoreInformation) throws -> Continuity {
        if let known = continuity(in: information) { return known }
        return isAfter(try Self.transaction(at: token, reading, information)) ? .same : .replaced
    }

    private static func transaction(
        at token: HistoryToken,
        _ reading: any ReadTransaction,
        _ information: StoreInformation
    ) throws -> HistoryTransaction? {
        guard token > information.historyFloor else { return nil }
        return try reading.fetchHistory(after: HistoryToken(rawValue: token.rawValue - 1), limit: 1).first
    }
}

/// Waits until a store reaches another moment.
final class LiveListener: Sendable {
    private struct State {
        var token: HistoryToken?
        /// Whether the moment has changed since the last wait.
        var isNew = false
        var error: (any Error)?
        var isOver = false
        var waiting: UnsafeContinuation<Void, Never>?

        mutating func takeWaiting() -> UnsafeContinuation<Void, Never>? {
            defer { waiting = nil }
            return waiting
        }
    }

    private let state = Mutex(State())

    /// - Parameter isAnew: whether the moment is another one also where the token is the same.
    func tell(_ token: HistoryToken, isAnew: Bool) {
        state.withLock { state -> UnsafeContinuation<Void, Never>? in
            guard state.token != token || isAnew else { return nil }
            (state.token, state.isNew) = (token, true)
            return state.takeWaiting()
        }?.resume()
    }

    func end(_ error: any Error) {
        state.withLock { state in
            if !state.isOver { state.error = error }
            return state.takeWaiting()
        }?.resume()
    }

    func cancel() {
        state.withLock { state in
            state.isOver = true
            return state.takeWaiting()
        }?.resume()
    }

    /// Waits until the moment has become another one since this was asked last.
    ///
    /// - Returns: the token; nil once it was cancelled.
    func next() async throws -> HistoryToken? {
        while true {
            let (token, isOver) = try state.withLock { state in
                if let error = state.error { throw error }
                defer { state.isNew = false }
                return (state.isNew ? state.token : nil, state.isOver)
            }
            if token != nil || isOver { return isOver ? nil : token }
            await withTaskCancellationHandler {
                await withUnsafeContinuation { continuation in
                    let isDue = state.withLock { state in
                        if state.error != nil || state.isOver || state.isNew { return true }
                        state.waiting = continuation
                        return false
                    }
                    if isDue { continuation.resume() }
                }
            } onCancel: {
                cancel()
            }
        }
    }
}
