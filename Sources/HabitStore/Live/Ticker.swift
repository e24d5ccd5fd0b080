import Dispatch

/// Does something again and again, until it is let go.
///
/// `DispatchSourceTimer` may be used from any thread, and is not declared so.
package final class Ticker: @unchecked Sendable {
    private let timer: any DispatchSourceTimer

    package init(everySeconds seconds: Double, _ work: @escaping @Sendable () -> Void) {
        timer = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
        timer.schedule(deadline: .now() + seconds, repeating: seconds)
        timer.setEventHandler(handler: work)
        timer.resume()
    }

    deinit { timer.cancel() }
}
