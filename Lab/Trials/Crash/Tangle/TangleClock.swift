import CSystemFaults
import Foundation

/// A clock that all processes of the machine share.
enum TangleClock {
    /// Nanoseconds since a moment before any of them started.
    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// The possible shifts of the clock of the day, in days.
    private static let days: [Int64] = [-1, 0, 1]

    /// Shifts this process's clock of the day.
    ///
    /// - Returns: what was done, as text to count; nil if faults are not supported here.
    static func shift(_ roll: UInt64) -> String? {
        guard system_faults_are_supported() else { return nil }
        let days = days[Int(roll % UInt64(days.count))]
        system_faults_shift_clock(days * 86_400)
        return days == 0 ? "clock restored" : "clock a day \(days < 0 ? "back" : "forward")"
    }
}
