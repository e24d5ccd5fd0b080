import Foundation
import Synchronization

/// Ends the process if one operation takes forever: by processor time, which a busy machine does not use up, and, if nothing is computed either, by
/// wall
/// clock.
final class HangMonitor: Sendable {
    private struct Start {
        let processorMilliseconds: Double
        let instant: ContinuousClock.Instant
        let message: String
    }

    /// When the current operation began; nil between operations.
    private let began = Mutex<Start?>(nil)

    init(processorSeconds: Double, seconds: Double) {
        Thread.detachNewThread { [self] in
            while true {
                sleep(1)
                guard let start = began.withLock({ $0 }) else { continue }
                let processor = (ProcessorTime.milliseconds() - start.processorMilliseconds) / 1000
                if processor > processorSeconds || ContinuousClock.now - start.instant > .seconds(seconds) {
                    print(start.message)
                    exit(2)
                }
            }
        }
    }

    /// - Parameter message: what to print if the operation does not end.
    func begin(orPrint message: String) {
        let start = Start(processorMilliseconds: ProcessorTime.milliseconds(), instant: .now, message: message)
        began.withLock { $0 = start }
    }

    func end() { began.withLock { $0 = nil } }
}
