import HabitStore
import Synchronization

/// A store that records on which thread, and in which task, its transactions run.
final class ThreadProbe: HabitStore {
    /// Where a transaction ran.
    struct Visit: Sendable {
        /// Whether the thread was one of the store's own.
        let isOwnThread: Bool
        /// The value of the task-local ``ThreadProbe/mark``.
        let mark: Int?
    }

    /// Bound by the caller.
    @TaskLocal static var mark: Int?

    private let base: any HabitStore
    private let noted = Mutex<[Visit]>([])

    init(_ base: any HabitStore) { self.base = base }

    var schema: Schema { base.schema }
    var dispatcher: StoreDispatcher { base.dispatcher }

    /// The visits since the last call.
    func takeVisits() -> [Visit] {
        noted.withLock { noted in
            defer { noted = [] }
            return noted
        }
    }

    /// The current thread and mark.
    static var here: Visit { Visit(isOwnThread: StoreDispatcher.isOwnThread, mark: mark) }

    func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        try base.read {
            noted.withLock { $0.append(Self.here) }
            return try body($0)
        }
    }

    @discardableResult
    func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        try base.write(author: author) {
            noted.withLock { $0.append(Self.here) }
            return try body($0)
        }
    }

    func read<R: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> R) async throws -> R {
        try await dispatcher.read { try self.read(body) }
    }

    @discardableResult
    func write<R: Sendable>(
        author: String?,
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R {
        try await dispatcher.write { attempt in try self.write(author: author, attempt.guarding(body)) }
    }
}
