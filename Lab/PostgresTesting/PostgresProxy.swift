import Foundation
import HabitStore
import Synchronization

/// A proxy between clients and a PostgreSQL server on the loopback address. It counts round trips and makes the network as slow and as unreliable as
/// a
/// test wants.
public final class PostgresProxy: Sendable {
    /// The direction of a message.
    public enum Direction: Sendable, Hashable, CaseIterable {
        case toServer, toClient
    }

    /// A future message.
    public enum Point: Sendable, Hashable {
        /// The message with this number in a direction, counted from 0.
        case message(Direction, Int)
        /// The message to the server that names a prepared statement.
        case statement(String)
        /// The end of a batch with that statement, to the server.
        case endOfBatch(with: String)
    }

    /// What goes wrong at a message.
    public enum Trouble: Sendable, Hashable, CaseIterable {
        /// The connection is cut before the message is forwarded.
        case cutBefore
        /// The connection is cut right after the message was forwarded.
        case cutBehind
        /// Neither the message nor anything after it on its connection is forwarded before ``PostgresProxy/release()``.
        case stall
    }

    private struct Plan {
        let trouble: Trouble
        var point: Point
        let meanwhile: @Sendable () -> Void
    }

    private struct State {
        var isClosed = false
        /// How often stalled messages were released.
        var releases = 0
        var delay = 0.0
        var plan: Plan?
        var hasStruck = false
        var batches: [[String]] = []
        var prepared: [String: Set<String>] = [:]
        var connections: [ProxiedConnection] = []
    }

    /// The port to connect to.
    public let port: Int
    private let serverPort: Int
    private let listener: Int32
    private let state = Mutex(State())

    /// Starts a proxy.
    ///
    /// - Parameter serverPort: the server's port on the loopback address.
    public init(to serverPort: Int) throws {
        self.serverPort = serverPort
        (listener, port) = try LoopbackSocket.listening()
        Thread.detachNewThread { [self] in accept() }
    }

    /// Stops the proxy and cuts all connections.
    public func close() {
        state.withLock { $0.isClosed = true }
        cutAll()
        LoopbackSocket.shut(listener)
    }

    /// Cuts all current connections.
    public func cutAll() {
        let connections = state.withLock { state in
            defer { state.connections.removeAll() }
            return state.connections
        }
        for connection in connections { connection.cut() }
    }

    private func accept() {
        defer { LoopbackSocket.close(listener) }
        while let client = LoopbackSocket.accepted(by: listener) {
            guard !state.withLock({ $0.isClosed }) else { return LoopbackSocket.close(client) }
            guard let server = LoopbackSocket.connected(to: serverPort) else {
                LoopbackSocket.close(client)
                continue
            }
            let connection = ProxiedConnection(client: client, server: server, self)
            state.withLock { state in
                state.connections.removeAll(where: \.isOver)
                state.connections.append(connection)
            }
            connection.start()
        }
    }

    // MARK: Counting

    /// Resets the counts.
    public func beginCounting() { state.withLock { $0.batches.removeAll() } }

    /// The batches that clients have sent since then and waited for: the statement names of each round trip.
    ///
    /// A lone rollback does not count: no client waits for its answer.
    public var roundTrips: [[String]] {
        state.withLock { $0.batches.filter { !$0.isEmpty && $0 != ["hs_rollback"] } }
    }

    /// The texts with which clients have prepared statements, by the statements' names.
    public var preparedStatements: [String: Set<String>] { state.withLock { $0.prepared } }

    func note(_ prepared: (name: String, text: String)) {
        _ = state.withLock { $0.prepared[prepared.name, default: []].insert(prepared.text) }
    }

    func note(batch: [String]) { state.withLock { $0.batches.append(batch) } }

    // MARK: Trouble

    /// The delay of each message, in seconds.
    public var delaySeconds: Double {
        get { state.withLock { $0.delay } }
        set { state.withLock { $0.delay = newValue } }
    }

    /// Plans one trouble at a future message.
    ///
    /// - Parameter meanwhile: called before the client can notice.
    public func plan(_ trouble: Trouble, at point: Point, meanwhile: @escaping @Sendable () -> Void = {}) {
        state.withLock { state in
            state.plan = Plan(trouble: trouble, point: point, meanwhile: meanwhile)
            state.hasStruck = false
        }
    }

    /// Cancels the plan if it has not struck yet.
    ///
    /// - Returns: whether it has struck.
    public func endPlan() -> Bool {
        state.withLock { state in
            state.plan = nil
            return state.hasStruck
        }
    }

    /// Forwards the stalled messages.
    public func release() { state.withLock { $0.releases += 1 } }

    var releases: Int { state.withLock { $0.releases } }

    /// The trouble at a message that is about to be forwarded.
    ///
    /// - Parameter batch: the statements of its batch so far.
    func trouble(
        at message: PostgresMessages.Message,
        _ direction: Direction,
        _ batch: [String]
    ) -> (trouble: Trouble, meanwhile: @Sendable () -> Void)? {
        state.withLock { state in
            guard let plan = state.plan else { return nil }
            switch plan.point {
            case .message(direction, let number) where number > 0:
                state.plan?.point = .message(direction, number - 1)
                return nil
            case .message(direction, _): break
            case .statement(let name) where direction == .toServer && message.boundStatement == name: break
            case .endOfBatch(let name) where direction == .toServer && message.isSync && batch.contains(name): break
            default: return nil
            }
            (state.plan, state.hasStruck) = (nil, true)
            return (plan.trouble, plan.meanwhile)
        }
    }
}
