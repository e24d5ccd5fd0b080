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

    /// Runs `body` over one snapshot, which no later write changes. Reads may run beside each other and beside a write.
    func read<R>(_ body: (Snapshot) throws -> R) throws -> R

    /// Runs `body` in the write transaction and makes it durable before it returns; a throw undoes all of it.
    ///
    /// - Throws: what `body` throws; ``HabitStoreError/Code/outcomeUnknown`` when the commit failed and the store must
    ///   be read again to know.
    func write<R>(_ body: (Writer) throws -> R) throws -> R

    /// Runs `body` as ``write(_:)`` does, and may let it share its commit with others that arrive at the same time: each is
    /// whole or not at all by itself, sees those before it, and returns when the commit is durable that has all of them.
    ///
    /// - Throws: as ``write(_:)`` does; what the commit fails with, all that share it throw.
    func writeTogether<R>(_ body: (Writer) throws -> R) throws -> R

    /// Runs `body` in one write transaction over a file whose records have the shape of this engine's schema before it, and
    /// that of another one behind it.
    ///
    /// - Parameters:
    ///   - schema: the other one.
    ///   - body: is given the writer of this engine's schema, and what gives the writer of the other one. From that call on,
    ///     the entities whose names it was given are empty and have the other schema's shape, with their indexes, those that
    ///     the other schema does not have are gone, and the first writer must not be used.
    /// - Throws: as ``write(_:)`` does; ``HabitStoreError/Code/unsupported`` for an engine whose stores are not kept.
    func reshape<R>(
        to schema: Schema,
        _ body: (_ writer: Writer, _ reshaped: (Set<String>) throws -> Writer) throws -> R
    ) throws -> R

    /// Refuses where the path leads to another file than the open one, or to none: asked now and then for whoever only reads and
    /// could not tell. It must cost no more than a look at the file system.
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
    /// Each write has a commit of its own.
    public func writeTogether<R>(_ body: (Writer) throws -> R) throws -> R { try write(body) }

    /// Nothing can be put in the store's place.
    public func requireInPlace() throws {}

    /// Nothing is kept that could be of an older version.
    public func reshape<R>(
        to schema: Schema,
        _ body: (_ writer: Writer, _ reshaped: (Set<String>) throws -> Writer) throws -> R
    ) throws -> R {
        throw HabitStoreError(.unsupported, "this engine's stores are made anew each time, and are not migrated")
    }
}
