import Foundation
import Hummingbird
import ServiceLifecycle
import Synchronization

/// Sends the page's changed parts as server-sent events: one stream for each open page.
final class EventStream: Sendable {
    /// The most pages that may be open at the same time.
    static let most = 64
    private static let pollSeconds = 1.0

    private let keeper: PageKeeper
    private let open = Atomic<Int>(0)

    init(keeper: PageKeeper) { self.keeper = keeper }

    private struct Part: Encodable {
        let id: String
        let html: String
    }

    /// A new stream; status 503 if too many are open.
    ///
    /// - Parameter mayGoOn: called before anything is sent; returns whether to continue.
    func response(mayGoOn: @escaping @Sendable () -> Bool) -> Response {
        guard open.load(ordering: .relaxed) < Self.most else {
            var response = Answers.text(
                "\(Self.most) pages are open, which is the maximum.",
                status: .serviceUnavailable
            )
            response.headers[.retryAfter] = "30"
            return response
        }
        let body = ResponseBody { writer in
            // Counted here, because this does not run for a closed connection or a HEAD request.
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
            // Sent even without changes, to show that the server is alive and to notice closed connections.
            let clock = keeper.clock
            text += "event: look\ndata: \(clock.second(clock.now))\n\n"
            try await writer.write(ByteBuffer(string: text))
            try await Task.sleep(for: .seconds(Self.pollSeconds))
        }
    }
}
