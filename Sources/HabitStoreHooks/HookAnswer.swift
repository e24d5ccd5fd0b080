import Foundation
import HabitStoreFleet
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What a hook answers: the status counts, and the body is read for politeness up to a limit.
final class HookAnswer: NSObject, URLSessionDataDelegate {
    enum Result: Sendable {
        case status(Int)
        case failure(HookFailure)
    }

    private static let mostBytes = 65_536

    private struct State {
        var status: Int?
        var bytes = 0
        var result: Result?
    }

    private let state = Mutex(State())
    private let timeoutSeconds: Double
    private let done = DispatchSemaphore(value: 0)

    /// - Parameter timeoutSeconds: how long an answer is waited for.
    init(timeoutSeconds: Double) { self.timeoutSeconds = timeoutSeconds }

    /// Waits for the answer. A status whose body does not end in time counts.
    func wait() -> Result {
        _ = done.wait(timeout: .now() + timeoutSeconds)
        return state.withLock { $0.result ?? $0.status.map { .status($0) } } ?? .failure(late)
    }

    private var late: HookFailure { HookFailure("gave no answer within \(timeoutSeconds.formatted()) seconds") }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        state.withLock { $0.status = response.statusCode }
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse { state.withLock { $0.status = response.statusCode } }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooMuch = state.withLock { state in
            state.bytes += data.count
            return state.bytes > Self.mostBytes
        }
        if isTooMuch { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        state.withLock { state in
            if let status = state.status {
                state.result = .status(status)
            } else {
                state.result = .failure(failure(error))
            }
        }
        done.signal()
    }

    private func failure(_ error: (any Error)?) -> HookFailure {
        guard let error = error as? URLError else {
            return HookFailure("gave no answer that is HTTP" + (error.map { ": \($0.localizedDescription)" } ?? ""))
        }
        let detail = (error as NSError).userInfo[NSLocalizedDescriptionKey] as? String ?? error.localizedDescription
        return switch error.code {
        case .timedOut: late
        case .cannotFindHost, .dnsLookupFailed: HookFailure("cannot be reached: its host is not known")
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
            .clientCertificateRequired:
            HookFailure("cannot be trusted: \(detail)")
        default: HookFailure("cannot be reached: \(detail)")
        }
    }
}
