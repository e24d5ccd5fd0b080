import Foundation
import Synchronization

/// Ends the process when one input takes for ever: an input that is only slow is measured where it is read.
final class HangMonitor: Sendable {
    /// When the current input began, in milliseconds of the monotonic clock; 0 between inputs.
    private let began = Atomic<UInt64>(0)

    init(seconds: UInt64) {
        Thread.detachNewThread { [self] in
            while true {
                sleep(1)
                let start = began.load(ordering: .acquiring)
                if start != 0, Self.now() - start > seconds * 1000 {
                    print("an input hangs; it is in the file of the current input")
                    exit(2)
                }
            }
        }
    }

    func begin() { began.store(Self.now(), ordering: .releasing) }

    func end() { began.store(0, ordering: .releasing) }

    private static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds / 1_000_000 }
}
