import Foundation

/// The one boundary between an app and its records. Which engine is below is not visible here.
///
/// ```swift
/// try store.write(author: "import") { transaction in
///     try transaction.save(Habit(name: "Run"))
/// }
/// let heroes = try store.fetch(FetchDescriptor(
///     predicate: #Predicate<Habit> { $0.streak >= 7 },
///     sortBy: [SortDescriptor(\.streak, order: .reverse)]))
/// ```
///
/// The guarantees (isolation, durability, order) are stated in the article *Guarantees*.
public protocol HabitStore: AnyObject, Sendable {
    /// The entities.
    var schema: Schema { get }

    /// Where the async forms run, so that they never block the cooperative pool.
    var dispatcher: StoreDispatcher { get }

    /// What tells live queries of changes. There is no need to write it: without, they look for changes themselves.
    var liveQueries: LiveQueries { get }

    /// Runs `body` over one moment of the store. Reads run concurrently with each other and with a write.
    func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R

    /// Runs `body` in a write transaction. When it returns, its changes are durable and in the history; when it throws, nothing has changed. `body`
    /// runs exactly once.
    ///
    /// - Parameters:
    ///   - author: the author in the history.
    ///   - body: the transaction's work.
    /// - Throws: the errors of `body`; ``HabitStoreError/Code/notAuthoritative`` if the store does not accept writes;
    ///   ``HabitStoreError/Code/outcomeUnknown`` if the commit failed and only reading again can tell.
    @discardableResult
    func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R

    /// The async form of `read(_:)`; it runs on a thread of the store's own, never on the cooperative pool.
    ///
    /// - Throws: also `CancellationError`, when the task was cancelled before the transaction began.
    func read<R: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> R) async throws -> R

    /// The async form of `write(author:_:)`; it runs on a thread of the store's own, never on the cooperative pool.
    ///
    /// - Throws: also `CancellationError`, when the task was cancelled before the transaction began; once begun, a
    ///   transaction is finished.
    @discardableResult
    func write<R: Sendable>(
        author: String?,
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R
}
