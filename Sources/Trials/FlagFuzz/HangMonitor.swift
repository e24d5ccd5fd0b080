import Foundation
import Synchronization

/// Ends the process when one input takes for ever: by processor time, which a busy machine does not use up, and where
/// nothing is computed either, by the clock.
final class HangMonitor: Sendable {
    private struct Start {
        let processorMilliseconds: Double
        let instant: ContinuousClock.Instant
    }

    /// When the current input began; nil between inputs.
    private let began = Mutex<Start?>(nil)

    init(processorSeconds: Double, seconds: Double) {
        Thread.detachNewThread { [self] in
            while true {
                sleep(1)
                guard let start = began.withLock({ $0 }) else { continue }
                let processor = (ProcessorTime.milliseconds() - start.processorMilliseconds) / 1000
                if processor > processorSeconds || ContinuousClock.now - start.instant > .seconds(seconds) {
                    print("an input hangs; it is in the file of the current input")
                    exit(2)
                }
            }
        }
    }

    func begin() {
        let start = Start(processorMilliseconds: ProcessorTime.milliseconds(), instant: .now)
        began.withLock { $0 = start }
    }

    func end() { began.withLock { $0 = nil } }
}
