@_spi(Engines) import HabitStore
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The connections of a process to one server: a stated few, lent for one transaction each, whatever the number of stores.
final class PostgresPool: Sendable {
    /// What a server is asked with.
    struct Limits: Sendable, Hashable {
        /// How many connections there are at most.
        var mostConnections = 8
        /// How long a lock and a free connection are waited for, in seconds; an answer, and the settling of an unknown outcome,
        /// twice as long.
        var waitSeconds = 5.0
    }

    private struct State {
        var idle: [PostgresConnection] = []
        /// The threads that have a connection.
        var borrowers: Set<UInt> = []
    }

    let server: String
    let limits: Limits
    private let state = Mutex(State())
    private let gate: FairGate

    private init(_ server: String, _ limits: Limits) {
        (self.server, self.limits) = (server, limits)
        gate = FairGate(places: limits.mostConnections)
    }

    private struct Key: Hashable {
        let server: String
        let limits: Limits
    }

    private static let pools = Mutex<[Key: PostgresPool]>([:])

    /// The pool of a server with such limits.
    static func of(_ server: String, _ limits: Limits = Limits()) -> PostgresPool {
        let key = Key(server: server, limits: limits)
        return pools.withLock { pools in
            if let pool = pools[key] { return pool }
            let pool = PostgresPool(server, limits)
            pools[key] = pool
            return pool
        }
    }

    /// Until when a place that is asked for now is waited for.
    var deadline: Deadline { .after(seconds: limits.waitSeconds) }

    /// Until when an answer to what is sent now is waited for: the server has to have the time to refuse a lock by itself.
    var answerDeadline: Deadline { .after(seconds: limits.waitSeconds * 2) }

    /// Lends a connection to `body`. One that is lost meanwhile is closed; the others are kept.
    ///
    /// A thread that has one gets another one beside the limit: what it asks for inside of a transaction must not wait for that
    /// transaction.
    ///
    /// - Throws: ``PostgresOutcome`` where the server cannot be reached; ``HabitStoreError/Code/busy`` where all connections are
    ///   lent for longer than is waited for.
    func withConnection<R>(until deadline: Deadline, _ body: (PostgresConnection) throws -> R) throws -> R {
        let thread = Self.currentThread
        guard state.withLock({ $0.borrowers.insert(thread).inserted }) else { return try lend(deadline, body) }
        defer { _ = state.withLock { $0.borrowers.remove(thread) } }
        guard gate.enter(until: deadline) else {
            throw HabitStoreError(
                .busy,
                "all \(limits.mostConnections) connections to the server are in use; try again later"
            )
        }
        defer { gate.leave() }
        return try lend(deadline, body)
    }

    private static var currentThread: UInt {
        #if canImport(Darwin)
        UInt(bitPattern: pthread_self())
        #else
        UInt(pthread_self())
        #endif
    }

    private func lend<R>(_ deadline: Deadline, _ body: (PostgresConnection) throws -> R) throws -> R {
        let connection = try idleConnection() ?? connect(deadline)
        defer {
            if connection.isUsable() {
                state.withLock { state in
                    if state.idle.count < limits.mostConnections { state.idle.append(connection) }
                }
            }
        }
        return try body(connection)
    }

    private func idleConnection() -> PostgresConnection? {
        while let connection = state.withLock({ $0.idle.popLast() }) {
            if connection.isUsable() { return connection }
        }
        return nil
    }

    /// How long a transaction may ask nothing, as the server is told: long enough for whoever works between two pages, and short enough
    /// for a server whose snapshot is held by a program that hangs.
    static let idleLimit = "10min"

    private func connect(_ deadline: Deadline) throws -> PostgresConnection {
        let connection = try PostgresConnection(server, until: deadline)
        _ = try connection.run(
            [
                PostgresCall(.setLockTimeout, .text("\(Int(limits.waitSeconds * 1_000))ms")),
                PostgresCall(.setIdleTimeout, .text(Self.idleLimit)),
                PostgresCall(.setWholeTables, .text("off")),
            ],
            until: deadline
        )
        return connection
    }

    /// Closes the connections that nobody uses: after one was lost, the others are likely to lead to the same dead server.
    func closeIdle() {
        let closed = state.withLock { state in
            defer { state.idle.removeAll() }
            return state.idle
        }
        withExtendedLifetime(closed) {}
    }
}
