import Foundation
@_spi(Engines) import HabitStore

/// The result of all commits of a journal. It is a value: a copy shows one state, whatever is committed later.
struct JournalState: Sendable {
    /// The records of each entity, by its name: positions differ between versions of the schema.
    private(set) var records: [String: SortedRecords] = [:]
    /// The store's own bookkeeping.
    private(set) var metadata: [String: String] = [:]
    /// The kept digests of each entity, ascending.
    private(set) var digests: [String: [DigestLeaf]] = [:]
    /// The history in order, in chunks: appending copies only one of them.
    private(set) var history: [[HistoryTransaction]] = []

    private static let chunkLimit = 256

    /// The number of the last history transaction; 0 if there was none.
    var lastToken: Int64 { history.last?.last?.token.rawValue ?? 0 }

    /// Calls `body` with the history transactions after a number, oldest first, until it returns false.
    func history(after token: Int64, _ body: (HistoryTransaction) throws -> Bool) rethrows {
        let start = history.firstPlace { ($0.last?.token.rawValue ?? 0) > token }
        for chunk in history[start...] {
            for transaction in chunk where transaction.token.rawValue > token {
                guard try body(transaction) else { return }
            }
        }
    }

    /// Applies a change of a commit.
    mutating func apply(_ change: JournalChange) {
        switch change {
        case .put(let entity, let id, let record): records[entity, default: SortedRecords()][id] = record
        case .remove(let entity, let id): records[entity]?[id] = nil
        case .setMetadata(let key, let value): metadata[key] = value
        case .append(let transaction):
            if let count = history.last?.count, count < Self.chunkLimit {
                history[history.count - 1].append(transaction)
            } else {
                history.append([transaction])
            }
        case .prune(let token):
            history.removeAll { ($0.last?.token.rawValue ?? 0) <= token }
            if !history.isEmpty { history[0].removeAll { $0.token.rawValue <= token } }
        case .setDigest(let entity, let leaf):
            let place = digests[entity, default: []].firstPlace { !$0.first.isBefore(leaf.first) }
            if let kept = digests[entity], place < kept.count, kept[place].first == leaf.first {
                digests[entity]?[place] = leaf
            } else {
                digests[entity, default: []].insert(leaf, at: place)
            }
        case .removeDigests(let entity): digests[entity] = nil
        case .empty(let entity): (records[entity], digests[entity]) = (nil, nil)
        }
    }
}
