import Foundation

/// One moment of a store. Everything read in it belongs together, whatever is written meanwhile.
///
/// It is valid inside of the closure that it is given to, on one thread at a time; afterwards its methods throw
/// ``HabitStoreError/Code/transactionEnded``.
public protocol ReadTransaction: AnyObject {
    /// The store's schema.
    var schema: Schema { get }

    /// The history token of this moment.
    func currentToken() throws -> HistoryToken

    /// Lends the record of an identifier to `body`.
    ///
    /// - Returns: whether there is one.
    func withRow(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool

    /// Makes a fetch ready for this transaction.
    func prepare<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> PreparedFetch

    /// Hands each row of a fetch to `body`, in order, until it returns false. A row is valid during the call.
    ///
    /// - Returns: how much work it was.
    /// - Throws: ``HabitStoreError/Code/evaluationFailed`` where evaluating the predicate would trap in Swift.
    @discardableResult
    func enumerateRows(
        _ fetch: PreparedFetch,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics

    /// About how many rows a fetch has, where that takes nothing to tell; not more than there is memory for anyway.
    func expectedCount(_ fetch: PreparedFetch) -> Int?

    /// How much work all queries of this transaction have been so far.
    var statistics: FetchStatistics { get }

    /// The number of records of a fetch, its window applied.
    func count(_ fetch: PreparedFetch) throws -> Int

    /// How a fetch is answered.
    func explain(_ fetch: PreparedFetch) throws -> QueryExplanation

    /// Hands the history transactions after a token to `body`, oldest first, until it returns false.
    ///
    /// - Throws: ``HabitStoreError/Code/historyExpired`` when some of them were pruned.
    func enumerateHistory(after token: HistoryToken, _ body: (HistoryTransaction) throws -> Bool) throws

    /// What the store knows about itself.
    func information() throws -> StoreInformation
}

extension ReadTransaction {
    /// Nothing is known without reading.
    public func expectedCount(_ fetch: PreparedFetch) -> Int? { nil }
}

/// What a store knows about itself.
public struct StoreInformation: Sendable, Hashable, Codable {
    /// This store's identity.
    public var storeID: UUID
    /// The identity that all stores of one user's data share: those that were copied from one another.
    public var lineage: UUID
    /// The token.
    public var token: HistoryToken
    /// The last token whose history was pruned.
    public var historyFloor: HistoryToken
    /// What the store may be used for.
    public var role: StoreRole
    /// How often the role was handed from one store of the user to another.
    public var epoch: Int
}

/// What a store of a user may be used for.
public enum StoreRole: String, Sendable, Hashable, Codable {
    /// It holds the user's data, and takes writes.
    case authoritative
    /// It follows another store; writes are refused.
    case standby
    /// It was authoritative and is about to hand over; writes are refused.
    case sealed
    /// A copy into it is not finished; neither reads nor writes are served from it.
    case backfilling
}
