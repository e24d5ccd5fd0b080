import Foundation
import HabitStore
import Synchronization

/// Stands between clients and a server of PostgreSQL on the loopback address: counts what is asked, and makes the network as slow and
/// as unreliable as somebody wants it.
public final class PostgresProxy: Sendable {
    /// Which way a message goes.
    public enum Direction: Sendable, Hashable, CaseIterable {
        case toServer, toClient
    }

    /// A message that is to come.
    public enum Point: Sendable, Hashable {
        /// One of a direction, beginning with 0.
        case message(Direction, Int)
        /// The one that names a prepared statement, to the server.
        case statement(String)
        /// The end of a batch with that statement, to the server.
        case endOfBatch(with: String)
    }

    /// What happens at a message.
    public enum Trouble: Sendable, Hashable, CaseIterable {
        /// The connection is cut before the message is passed on.
        case cutBefore
        /// The connection is cut as soon as it was passed on.
        case cutBehind
        /// Neither it nor anything after it on its connection is passed on before ``PostgresProxy/release()``.
        case stall
    }

    private struct Plan {
        let trouble: Trouble
        var point: Point
        let meanwhile: @Sendable () -> Void
    }

    private struct State {
        var isClosed = false
        /// How often what was held back was let go.
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
    /// - Parameter serverPort: where the server is, on the loopback address.
    public init(to serverPort: Int) throws {
        self.serverPort = serverPort
        (listener, port) = try LoopbackSocket.listening()
        Thread.detachNewThread { [self] in accept() }
    }

    /// Ends it, and cuts all connections.
    public func close() {
        state.withLock { $0.isClosed = true }
        cutAll()
        LoopbackSocket.shut(listener)
    }

    /// Cuts the connections that there are.
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

    // MARK: What is counted

    /// Counts from here on.
    public func beginCounting() { state.withLock { $0.batches.removeAll() } }

    /// What clients have sent since then and waited for: the names of the statements of each round trip.
    ///
    /// A rollback by itself is not one: nobody waits for its answer.
    public var roundTrips: [[String]] {
        state.withLock { $0.batches.filter { !$0.isEmpty && $0 != ["hs_rollback"] } }
    }

    /// The texts that clients have prepared statements with, by the statements' names.
    public var preparedStatements: [String: Set<String>] { state.withLock { $0.prepared } }

    func note(_ prepared: (name: String, text: String)) {
        _ = state.withLock { $0.prepared[prepared.name, default: []].insert(prepared.text) }
    }

    func note(batch: [String]) { state.withLock { $0.batches.append(batch) } }

    // MARK: What goes wrong

    /// How long each message is on its way, in seconds.
    public var delaySeconds: Double {
        get { state.withLock { $0.delay } }
        set { state.withLock { $0.delay = newValue } }
    }

    /// Has something happen once, at a message that is to come.
    ///
    /// - Parameter meanwhile: what is done before the client can notice.
    public func plan(_ trouble: Trouble, at point: Point, meanwhile: @escaping @Sendable () -> Void = {}) {
        state.withLock { state in
            state.plan = Plan(trouble: trouble, point: point, meanwhile: meanwhile)
            state.hasStruck = false
        }
    }

    /// Gives up what was planned and has not happened.
    ///
    /// - Returns: whether it has.
    public func endPlan() -> Bool {
        state.withLock { state in
            state.plan = nil
            return state.hasStruck
        }
    }

    /// Passes on what was held back.
    public func release() { state.withLock { $0.releases += 1 } }

    var releases: Int { state.withLock { $0.releases } }

    /// What happens at a message that is about to be passed on.
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
