import Foundation
@_spi(Engines) import HabitStore
import Hashing
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The connections of a process to one server: a limited number, each lent for one transaction, however many stores there are.
final class PostgresPool: Sendable {
    /// The limits of a pool.
    struct Limits: Sendable, Hashable {
        /// The maximum number of connections.
        var mostConnections = 8
        /// How long to wait for a lock and for a free connection, in seconds. The wait for an answer, or for resolving an unknown
        /// outcome, is twice as long.
        var waitSeconds = 5.0
    }

    private struct State {
        var idle: [PostgresConnection] = []
        /// The threads that hold a connection.
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

    /// The pool of a server with these limits.
    static func of(_ server: String, _ limits: Limits = Limits()) -> PostgresPool {
        let key = Key(server: server, limits: limits)
        return pools.withLock { pools in
            if let pool = pools[key] { return pool }
            let pool = PostgresPool(server, limits)
            pools[key] = pool
            return pool
        }
    }

    /// The deadline for getting a connection, starting now.
    var deadline: Deadline { .after(seconds: limits.waitSeconds) }

    /// The deadline for an answer, starting now: it leaves the server the time to refuse a lock itself.
    var answerDeadline: Deadline { .after(seconds: limits.waitSeconds * 2) }

    /// Lends a connection to `body`. A connection that is lost meanwhile is closed; the others are kept.
    ///
    /// A thread that already holds one gets another in addition to the limit: an operation inside a transaction must not wait for
    /// that transaction.
    ///
    /// - Throws: ``PostgresOutcome`` if the server cannot be reached; ``HabitStoreError/Code/busy`` if no connection becomes free
    ///   in time.
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

    /// How long a transaction may be idle, as a server setting: long enough for a caller that works between two pages, short enough
    /// for a server whose snapshot is held by a hanging program.
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

    /// Closes the unused connections: after one was lost, the others probably lead to the same dead server.
    func closeIdle() {
        let closed = state.withLock { state in
            defer { state.idle.removeAll() }
            return state.idle
        }
        withExtendedLifetime(closed) {}
    }
}

/// The location of a store: a server and the store's name on it.
///
/// The text form is a libpq connection URI without its scheme, followed by `#` and the name:
/// `//db1,db2/habits?sslmode=verify-full#alice`. After the engine's name, it reads like the URI: `postgres://db1,db2/habits#alice`.
public struct PostgresPlace: Sendable, Hashable, CustomStringConvertible {
    /// The connection URI: <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING>.
    public let server: String
    /// The store's name on the server.
    public let name: String

    /// Creates the place of a store.
    public init(server: String, name: String) { (self.server, self.name) = (Self.withUsualScheme(server), name) }

    /// Separates a store's name from the suffix of a copy.
    static let separator = "\u{1F}"

    /// The place of a copy of the store.
    func beside(_ suffix: String) -> PostgresPlace {
        PostgresPlace(server: server, name: name + Self.separator + suffix)
    }

    /// Parses a place.
    ///
    /// - Throws: ``HabitStore/HabitStoreError/Code/invalidValue`` for a malformed text or one with a password: addresses appear in
    ///   logs and in process lists.
    public init(parsing text: String) throws {
        guard text.hasPrefix("//"), let mark = text.lastIndex(of: "#"), text.index(after: mark) < text.endIndex else {
            throw HabitStoreError(
                .invalidValue,
                "this names no store on a server; write //HOST:PORT/DATABASE#NAME",
                at: .init(path: text)
            )
        }
        let name = String(text[text.index(after: mark)...])
        guard let decoded = name.removingPercentEncoding, !decoded.utf8.contains(0) else {
            throw HabitStoreError(
                .invalidValue,
                "the store's name is not written as a URI's fragment",
                at: .init(path: text)
            )
        }
        self.name = decoded
        server = try Self.server("postgresql:" + text[..<mark])
    }

    /// A connection URI without a password.
    ///
    /// - Throws: ``HabitStore/HabitStoreError/Code/invalidValue`` for one with a password.
    public static func server(_ uri: String) throws -> String {
        guard ["postgresql://", "postgres://"].contains(where: uri.hasPrefix) else {
            // The message does not repeat the text: libpq's other forms may have a password anywhere.
            throw HabitStoreError(.invalidValue, "this is not a connection URI; write postgresql://HOST:PORT/DATABASE")
        }
        guard !Passwords.isIn(uri) else { throw Passwords.refusal(of: uri) }
        return withUsualScheme(uri)
    }

    /// libpq accepts two equivalent schemes, and two URIs of one server should be equal.
    private static func withUsualScheme(_ uri: String) -> String {
        uri.hasPrefix("postgres://") ? "postgresql" + uri.dropFirst("postgres".count) : uri
    }

    /// The identifier of the store in the tables: the first bytes of the SHA-256 of its name, as a UUID of version 8 (RFC 9562).
    public var store: UUID {
        var bytes = Array(SHA256.hash(data: Data(name.utf8)).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// `//HOST:PORT/DATABASE#NAME`.
    public var description: String {
        let name = name.addingPercentEncoding(withAllowedCharacters: .urlFragmentAllowed) ?? name
        return "\(server.dropFirst("postgresql:".count))#\(name)"
    }
}
