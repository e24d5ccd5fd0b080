import NIOCore
import Synchronization

/// How many connections of each client have not sent the head of a request yet. One client that opens connections and says nothing, or says it
/// slowly, does not take all that there are.
final class HalfOpenConnections: Sendable {
    /// How many a client may have. All who come through one server in front of this one are one client, whose connections are short.
    static let most = 32

    private let counts = Mutex<[String: Int]>([:])

    /// A connection begins.
    ///
    /// - Returns: whether there is room for it.
    func begin(_ client: String) -> Bool {
        counts.withLock { counts in
            guard counts[client, default: 0] < Self.most else { return false }
            counts[client, default: 0] += 1
            return true
        }
    }

    /// A connection has sent a head, or has ended before it did.
    func end(_ client: String) {
        counts.withLock { counts in
            let left = (counts[client] ?? 0) - 1
            counts[client] = left > 0 ? left : nil
        }
    }
}

/// Closes a connection for which there is no room, and counts it until its first head has come. It also has the targets of requests looked at
/// as they were sent.
final class HalfOpenLimit: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    private let connections: HalfOpenConnections
    /// The client while the connection counts.
    private var client: String?
    private var isBegun = false

    init(_ connections: HalfOpenConnections) { self.connections = connections }

    func handlerAdded(context: ChannelHandlerContext) {
        do {
            try TargetHost.add(to: context.pipeline)
        } catch {
            return context.close(promise: nil)
        }
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        end()
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func begin(_ context: ChannelHandlerContext) {
        guard !isBegun else { return }
        isBegun = true
        let client = context.remoteAddress?.ipAddress ?? ""
        guard connections.begin(client) else { return context.close(promise: nil) }
        self.client = client
    }

    private func end() {
        if let client { connections.end(client) }
        client = nil
    }
}
