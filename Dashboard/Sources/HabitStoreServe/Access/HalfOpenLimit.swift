import NIOCore
import Synchronization

/// Counts the connections of each client that have not sent a complete request head yet, so that a client that opens connections and sends nothing,
/// or sends slowly, cannot use up all of them.
final class HalfOpenConnections: Sendable {
    /// The most connections of one client. All clients of a reverse proxy count as one, but its connections are short.
    static let most = 32

    private let counts = Mutex<[String: Int]>([:])

    /// Counts a new connection.
    ///
    /// - Returns: whether there is room for it.
    func begin(_ client: String) -> Bool {
        counts.withLock { counts in
            guard counts[client, default: 0] < Self.most else { return false }
            counts[client, default: 0] += 1
            return true
        }
    }

    /// Call this once a connection has sent a head, or has ended before that.
    func end(_ client: String) {
        counts.withLock { counts in
            let left = (counts[client] ?? 0) - 1
            counts[client] = left > 0 ? left : nil
        }
    }
}

/// Closes a connection if there is no room for it, and counts it until its first head has arrived. It also adds ``TargetHost`` to the pipeline.
final class HalfOpenLimit: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    private let connections: HalfOpenConnections
    /// The client, as long as the connection counts.
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
