import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1

/// Counts the host in a whole address that a request has as its target: the request then has two, and is refused as one with a second `Host`
/// is. Only the handler of HTTP's own parts sees the target as it was sent; the next one makes a path of it.
final class TargetHost: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    /// Puts it in front of what makes a path of the target.
    static func add(to pipeline: ChannelPipeline) throws {
        let codec = try pipeline.syncOperations.handler(type: HTTP1ToHTTPServerCodec.self)
        try pipeline.syncOperations.addHandler(TargetHost(), position: .before(codec))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data), !head.uri.hasPrefix("/") else {
            return context.fireChannelRead(data)
        }
        // One for the target's, and one in case that there was none.
        for _ in 0..<2 { head.headers.add(name: "Host", value: "") }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }
}
