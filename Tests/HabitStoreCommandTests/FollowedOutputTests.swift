import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import Synchronization
import Testing

@testable import HabitStoreOperator

/// A following command waits for more than its store.
struct FollowedOutputTests {
    private struct Enough: Error {}

    /// Charts and streaks used the day on which the command was started, even after new writes, and nothing was redrawn at midnight.
    @Test(.timeLimit(.minutes(5))) func anotherDayIsAnotherMoment() async throws {
        let store = try InMemoryHabitStore(schema: HabitSchema.current)
        defer { store.close() }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        // 2026-07-15 23:59:59 UTC.
        let clock = Mutex(Date(timeIntervalSince1970: 1_784_159_999))
        let moments = Mutex(0)
        await #expect(throws: Enough.self) {
            try await withTaskExecutorPreference(ThreadPerJob()) {
                try await FollowedOutput.moments(of: store, in: calendar, now: { clock.withLock { $0 } }) {
                    let isNextDay = clock.withLock { $0.timeIntervalSince1970 >= 1_784_160_000 }
                    let count = moments.withLock {
                        $0 += 1
                        return $0
                    }
                    #expect(isNextDay == (count == 2))
                    if count == 2 { throw Enough() }
                    let night = Thread {
                        // Polls on the same day emit nothing.
                        Thread.sleep(forTimeInterval: 0.6)
                        clock.withLock { $0 += 2 }
                    }
                    night.start()
                }
            }
        }
        #expect(moments.withLock { $0 } == 2)
    }
}
