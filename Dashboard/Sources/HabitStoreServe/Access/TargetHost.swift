import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1

/// Adds the host in an absolute target URI as another `Host`, so that the request is refused like one with two `Host` headers. Only the handler of
/// HTTP's own parts sees the original target; the next one reduces it to a path.
final class TargetHost: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    /// Adds the handler before the one that reduces targets to paths.
    static func add(to pipeline: ChannelPipeline) throws {
        let codec = try pipeline.syncOperations.handler(type: HTTP1ToHTTPServerCodec.self)
        try pipeline.syncOperations.addHandler(TargetHost(), position: .before(codec))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data), !head.uri.hasPrefix("/") else {
            return context.fireChannelRead(data)
        }
        // One for the target's host, and one in case the request had none.
        for _ in 0..<2 { head.headers.add(name: "Host", value: "") }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }
}
