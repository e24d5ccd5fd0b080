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
        var hidesStandby = false
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

    /// Whether each commit gets the notice that the standby did not answer, as when the server's wait for it is cancelled.
    public var hidesStandby: Bool {
        get { state.withLock { $0.hidesStandby } }
        set { state.withLock { $0.hidesStandby = newValue } }
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

/// A connection through a proxy, with a thread for each direction.
final class ProxiedConnection: Sendable {
    private struct State {
        /// Whether forwarding has stopped.
        var isSilent = false
        var isCut = false
        var ended = 0
        /// The release that ends the stall; nil without one.
        var release: Int?
    }

    private let client: Int32
    private let server: Int32
    private let proxy: PostgresProxy
    private let state = Mutex(State())

    init(client: Int32, server: Int32, _ proxy: PostgresProxy) {
        (self.client, self.server, self.proxy) = (client, server, proxy)
    }

    var isOver: Bool { state.withLock { $0.ended == 2 } }

    func start() {
        Thread.detachNewThread { [self] in
            guard greet() else {
                cut()
                end()
                return end()
            }
            Thread.detachNewThread { [self] in pass(.toClient) }
            pass(.toServer)
        }
    }

    /// Cuts the connection. The server still gets everything that was sent to it, but its answers are dropped.
    func cut() {
        state.withLock { state in
            guard !state.isCut, state.ended < 2 else { return }
            (state.isSilent, state.isCut) = (true, true)
            LoopbackSocket.shut(client)
            LoopbackSocket.endSending(server)
        }
    }

    /// Does not take the proxy's lock under this one: the proxy takes this one under its own.
    private var isStalled: Bool { state.withLock { $0.release }.map { proxy.releases < $0 } ?? false }

    private func end() {
        state.withLock { state in
            state.ended += 1
            guard state.ended == 2 else { return }
            LoopbackSocket.close(client)
            LoopbackSocket.close(server)
        }
    }

    /// Forwards the client's encryption requests, each of which the server answers with one byte, and its startup message.
    private func greet() -> Bool {
        while true {
            guard let head = LoopbackSocket.read(8, from: client) else { return false }
            let length = head.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            let code = head.suffix(4).reduce(0) { $0 << 8 | Int($1) }
            guard length >= 8, length < 65_536, let rest = LoopbackSocket.read(length - 8, from: client),
                LoopbackSocket.write(head + rest, to: server)
            else { return false }
            guard code == Self.encryption || code == Self.kerberosEncryption else { return true }
            guard let answer = LoopbackSocket.read(1, from: server), LoopbackSocket.write(answer, to: client) else {
                return false
            }
            // Encrypted traffic has no messages that the proxy could tell apart.
            guard answer != [UInt8(ascii: "S")], answer != [UInt8(ascii: "G")] else { return false }
        }
    }

    private static let encryption = 80_877_103
    private static let kerberosEncryption = 80_877_104

    /// Forwards one direction's messages until it ends.
    private func pass(_ direction: PostgresProxy.Direction) {
        let (source, target) = direction == .toServer ? (client, server) : (server, client)
        defer {
            LoopbackSocket.endSending(target)
            end()
        }
        var messages = PostgresMessages()
        var pending: [(due: ContinuousClock.Instant, message: PostgresMessages.Message)] = []
        var batch: [String] = []
        var isOpen = true
        while isOpen || !pending.isEmpty {
            let waits = isOpen ? LoopbackSocket.isReadable(source, within: pending.isEmpty ? 50 : 1) : false
            if waits {
                let bytes = LoopbackSocket.some(from: source)
                isOpen = !bytes.isEmpty
                messages.take(bytes)
                let due = ContinuousClock.now + .seconds(proxy.delaySeconds)
                pending += messages.taken().map { (due, $0) }
            } else if !isOpen {
                Thread.sleep(forTimeInterval: 0.001)
            }
            while !isStalled, let next = pending.first, next.due <= ContinuousClock.now {
                if direction == .toServer {
                    if let prepared = next.message.preparedStatement { proxy.note(prepared) }
                    if let statement = next.message.boundStatement { batch.append(statement) }
                }
                let strikes = proxy.trouble(at: next.message, direction, batch)
                if strikes?.trouble == .stall {
                    let release = proxy.releases + 1
                    state.withLock { $0.release = release }
                    break
                }
                pending.removeFirst()
                if strikes?.trouble != .cutBefore {
                    // Before it is sent: a client that gets the answer may read the count before this thread continues.
                    if direction == .toServer, next.message.isSync {
                        proxy.note(batch: batch)
                        batch.removeAll()
                    }
                    let isSilent = state.withLock { $0.isSilent }
                    let warning = next.message.isCommitted && proxy.hidesStandby ? PostgresMessages.warning : []
                    guard isSilent || LoopbackSocket.write(warning + next.message.bytes, to: target) else {
                        return cut()
                    }
                }
                if let strikes {
                    state.withLock { $0.isSilent = true }
                    strikes.meanwhile()
                    return cut()
                }
            }
        }
    }
}

/// Splits one direction of a connection, once its session has begun, into the protocol's messages:
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html>.
struct PostgresMessages {
    /// A message as sent: a type byte, the length of the rest, and the rest.
    struct Message {
        let bytes: [UInt8]

        private var type: UInt8? { bytes.first }

        /// The statement that a Bind message names; nil for other messages.
        var boundStatement: String? {
            guard type == UInt8(ascii: "B") else { return nil }
            // After the type and the length: the portal's name, then the statement's.
            return twoTexts?.1
        }

        /// The name and text of the statement that a Parse message prepares; nil for other messages.
        var preparedStatement: (name: String, text: String)? { type == UInt8(ascii: "P") ? twoTexts : nil }

        /// The first two texts of a message, each terminated by a zero byte.
        private var twoTexts: (String, String)? {
            let texts = bytes.dropFirst(5).split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
            guard texts.count > 1 else { return nil }
            return (String(decoding: texts[0], as: UTF8.self), String(decoding: texts[1], as: UTF8.self))
        }

        /// Whether the server has committed.
        var isCommitted: Bool { type == UInt8(ascii: "C") && bytes.dropFirst(5).elementsEqual("COMMIT\0".utf8) }

        /// Whether the client then waits for all answers.
        var isSync: Bool { type == UInt8(ascii: "S") }
    }

    /// The notice after a cancelled wait for synchronous replication.
    static let warning: [UInt8] = {
        let fields = "SWARNING\0VWARNING\0C01000\0Mcanceling wait for synchronous replication due to user request\0\0"
            .utf8
        let length = UInt32(fields.count + 4)
        return [UInt8(ascii: "N")] + withUnsafeBytes(of: length.bigEndian) { Array($0) } + fields
    }()

    private var gathered: [UInt8] = []

    /// Adds bytes that have arrived.
    mutating func take(_ bytes: [UInt8]) { gathered.append(contentsOf: bytes) }

    /// Removes and returns the complete messages.
    mutating func taken() -> [Message] {
        var messages: [Message] = []
        var start = 0
        while gathered.count >= start + 5 {
            let stated = gathered[(start + 1)..<(start + 5)].reduce(0) { $0 << 8 | Int($1) }
            let end = start + 1 + max(4, stated)
            guard end <= gathered.count else { break }
            messages.append(Message(bytes: Array(gathered[start..<end])))
            start = end
        }
        gathered.removeFirst(start)
        return messages
    }
}
