import Dispatch
import Foundation
import HabitStore
import Synchronization
import Testing

/// A race that `make race-check` must find before its empty report means anything: in state of the library, guarded by two contended locks instead
/// of one.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["HABITSTORE_PLANTED_RACE"] != nil))
struct PlantedRaceTests {
    private final class Lock: Sendable {
        let mutex = Mutex<Void>(())
    }

    @Test func twoLocksDoNotGuardOneVariable() {
        let commit = SharedCommit<Int>(path: nil) { _ in false }
        let locks = [Lock(), Lock()]
        let threads = DispatchGroup()
        // Threads rather than tasks: two of these could run on one thread, where nothing races.
        for number in 0..<4 {
            threads.enter()
            Thread.detachNewThread {
                for step in 0..<1_000 { locks[number % 2].mutex.withLock { _ in commit.window = UInt64(step) } }
                threads.leave()
            }
        }
        threads.wait()
    }
}
