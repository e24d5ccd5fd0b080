/// An embedded storage engine: it opens a file, and stores, finds and walks encoded records in transactions.
///
/// What records mean (uniqueness, delete rules, order, text form, history) is decided above, in one place. An engine
/// must pass the conformance kit in `HabitStoreTesting`.
@_spi(Engines) public protocol StorageEngine: AnyObject, Sendable {
    /// A consistent view of one moment.
    associatedtype Snapshot: EngineSnapshot
    /// The one write transaction at a time.
    associatedtype Writer: EngineWriter

    /// The file, or nil for an engine without one.
    var path: String? { get }

    /// Runs `body` on one snapshot, which no later write changes. Reads may run concurrently with each other and with a write.
    func read<R>(_ body: (Snapshot) throws -> R) throws -> R

    /// Runs `body` in the write transaction and makes it durable before it returns; a throw undoes all of it.
    ///
    /// - Throws: what `body` throws; ``HabitStoreError/Code/outcomeUnknown`` when the commit failed and the store must
    ///   be read again to know.
    func write<R>(_ body: (Writer) throws -> R) throws -> R

    /// Runs `body` like ``write(_:)``, but may share its commit with other writes that arrive at the same time: each is atomic by
    /// itself, sees those before it, and returns when their common commit is durable.
    ///
    /// - Throws: the errors of ``write(_:)``; all writes that share a commit throw its error.
    func writeTogether<R>(_ body: (Writer) throws -> R) throws -> R

    /// Runs `body` in one write transaction on a file whose records have the form of this engine's schema before it, and that of
    /// another schema after it.
    ///
    /// - Parameters:
    ///   - schema: the other schema.
    ///   - body: gets the writer of this engine's schema, and a function that returns the writer of the other one. After that call,
    ///     the entities with the given names are empty and have the other schema's form, as do their indexes; entities that the
    ///     other schema lacks are gone; and the first writer must not be used.
    /// - Throws: the errors of ``write(_:)``; ``HabitStoreError/Code/unsupported`` for an engine without persistent stores.
    func reshape<R>(
        to schema: Schema,
        _ body: (_ writer: Writer, _ reshaped: (Set<String>) throws -> Writer) throws -> R
    ) throws -> R

    /// Throws if the path leads to another file than the open one, or to none. Called now and then for callers that only read and
    /// would not notice. It must cost no more than a file system lookup.
    ///
    /// - Throws: ``HabitStoreError/Code/fileMoved``.
    func requireInPlace() throws

    /// Checks the file's own structure and the indexes against the records; an empty result is a clean bill.
    func check(_ progress: (Int) throws -> Void) throws -> [StoreFinding]

    /// Writes a consistent copy to a path at which there is nothing yet.
    func backup(to path: String) throws

    /// Closes the file. Later transactions throw ``HabitStoreError/Code/closed``.
    func close()
}

@_spi(Engines) extension StorageEngine {
    /// Gives each write a separate commit.
    public func writeTogether<R>(_ body: (Writer) throws -> R) throws -> R { try write(body) }

    /// Nothing can be put in the store's place.
    public func requireInPlace() throws {}

    /// Nothing is kept that could be of an older version.
    public func reshape<R>(
        to schema: Schema,
        _ body: (_ writer: Writer, _ reshaped: (Set<String>) throws -> Writer) throws -> R
    ) throws -> R {
        throw HabitStoreError(
            .unsupported,
            "this engine creates its stores from scratch each time and does not migrate them"
        )
    }
}
