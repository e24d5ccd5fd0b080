import Foundation

/// One moment of a store. Everything read in it belongs together, whatever is written meanwhile.
///
/// It is valid inside of the closure that it is given to, on one thread at a time; afterwards its methods throw
/// ``HabitStoreError/Code/transactionEnded``.
public protocol ReadTransaction: RowSource {
    /// The store's schema.
    var schema: Schema { get }

    /// The history token of this moment.
    func currentToken() throws -> HistoryToken

    /// Makes a fetch ready for this transaction.
    @_spi(Engines) func prepare<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> PreparedFetch

    /// How much work all queries of this transaction have been so far. It can still be read when the transaction has ended; on another
    /// thread while the closure runs, reading it stops the program with a sentence that says so.
    var statistics: FetchStatistics { get }

    /// The number of records of a fetch, its window applied.
    @_spi(Engines) func count(_ fetch: PreparedFetch) throws -> Int

    /// Tests single records against the condition of a fetch that was prepared for this transaction.
    @_spi(Engines) func matcher(of fetch: PreparedFetch) throws -> RowMatcher

    /// How a fetch is answered.
    @_spi(Engines) func explain(_ fetch: PreparedFetch) throws -> QueryExplanation

    /// Hands the history transactions after a token to `body`, oldest first, until it returns false.
    ///
    /// - Throws: ``HabitStoreError/Code/historyExpired`` when some of them were pruned.
    func enumerateHistory(after token: HistoryToken, _ body: (HistoryTransaction) throws -> Bool) throws

    /// The store's information about itself.
    func information() throws -> StoreInformation
}
