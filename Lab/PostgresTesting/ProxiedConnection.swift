import Foundation
import Synchronization

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
                    guard isSilent || LoopbackSocket.write(next.message.bytes, to: target) else { return cut() }
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
