import Foundation

/// A token that a consumer has received, with enough to tell it from the same number in another history: a store that was restored, or
/// replaced by another one, continues from its own token and reaches the same numbers again.
struct HistoryMoment: Sendable {
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
