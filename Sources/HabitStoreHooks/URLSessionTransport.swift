import Foundation
import HabitStoreFleet

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Sends the requests of hooks: by `URLSession` where there is TLS, with the certificate verified, no redirection followed and nothing
/// kept, and else over a socket of its own.
public struct URLSessionTransport: HookTransport {
    /// A transport; it keeps no connections open.
    public init() {}

    /// Posts a request, and waits for its answer.
    ///
    /// - Returns: the status that was answered.
    /// - Throws: why there is no answer.
    public func post(_ request: HookRequest) throws(HookFailure) -> Int {
        guard request.url.scheme?.lowercased() == "https" else { return try PlainExchange(request).status() }
        // `HookAnswer` ends it in time; the session's own limit, of whole seconds on Linux, is for what it leaves behind.
        let limit = request.timeoutSeconds.rounded(.up) + 1
        var message = URLRequest(
            url: request.url,
            cachePolicy: .reloadIgnoringLocalCacheData,
            timeoutInterval: limit
        )
        message.httpMethod = "POST"
        message.httpBody = request.body
        for (name, value) in request.headers { message.setValue(value, forHTTPHeaderField: name) }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = limit
        configuration.timeoutIntervalForResource = limit
        configuration.httpShouldSetCookies = false
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        let answer = HookAnswer(timeoutSeconds: request.timeoutSeconds)
        let session = URLSession(configuration: configuration, delegate: answer, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        session.dataTask(with: message).resume()
        switch answer.wait() {
        case .status(let status): return status
        case .failure(let failure): throw failure
        }
    }
}
