import Foundation
import Hummingbird
import ServiceLifecycle
import Synchronization

/// The page's parts as they change, by server-sent events: one stream for each page that is open.
final class EventStream: Sendable {
    /// How many pages may be open at once.
    static let most = 64
    private static let lookSeconds = 1.0

    private let keeper: PageKeeper
    private let open = Atomic<Int>(0)

    init(keeper: PageKeeper) { self.keeper = keeper }

    private struct Part: Encodable {
        let id: String
        let html: String
    }

    /// The stream; a 503 where too many are open.
    ///
    /// - Parameter mayGoOn: asked before anything is sent.
    func response(mayGoOn: @escaping @Sendable () -> Bool) -> Response {
        guard open.load(ordering: .relaxed) < Self.most else {
            var response = Answers.text("\(Self.most) pages are open, which is the most.", status: .serviceUnavailable)
            response.headers[.retryAfter] = "30"
            return response
        }
        let body = ResponseBody { writer in
            // Counted here: nobody runs this for a connection that has gone, or a HEAD.
            self.open.add(1, ordering: .relaxed)
            defer { self.open.subtract(1, ordering: .relaxed) }
            try await self.run(&writer, mayGoOn)
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "text/event-stream"], body: body)
    }

    private func run(_ writer: inout any ResponseBodyWriter, _ mayGoOn: () -> Bool) async throws {
        var sent: [String: String] = [:]
        var number = 0
        while !Task.isCancelled, !Task.isShuttingDownGracefully, mayGoOn() {
            let page = await keeper.current()
            var text = ""
            if page.number != number {
                number = page.number
                for (id, html) in page.parts where sent[id] != html {
                    sent[id] = html
                    text +=
                        "event: part\ndata: \(String(decoding: try JSONEncoder().encode(Part(id: id, html: html)), as: UTF8.self))\n\n"
                }
            }
            // Also where nothing has changed: the reader sees that it is alive, and whoever has gone is noticed.
            let clock = keeper.clock
            text += "event: look\ndata: \(clock.second(clock.now))\n\n"
            try await writer.write(ByteBuffer(string: text))
            try await Task.sleep(for: .seconds(Self.lookSeconds))
        }
    }
}
