import Foundation

/// A clock that all processes of the machine share.
enum TangleClock {
    /// Nanoseconds since some moment before all of them began.
    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
