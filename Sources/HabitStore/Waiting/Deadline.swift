import Dispatch

/// The instant at which a wait ends, on a clock that no change of the date moves.
package struct Deadline: Sendable {
    private let uptimeNanoseconds: UInt64

    /// A deadline that many seconds from now: at least none, at most a day.
    package static func after(seconds: Double) -> Self {
        // A NaN compares false with everything, so `max` of it must not come first.
        let bounded = seconds > 0 ? min(seconds, 86_400) : 0
        return Self(uptimeNanoseconds: DispatchTime.now().uptimeNanoseconds &+ UInt64(bounded * 1_000_000_000))
    }

    /// The longest wait there is: for the closing of files, which must not be given up.
    package static var farthest: Self { .after(seconds: 86_400) }

    /// The same instant for Dispatch.
    package var dispatchTime: DispatchTime { DispatchTime(uptimeNanoseconds: uptimeNanoseconds) }

    /// The remaining time in whole milliseconds, rounded up; 0 after the deadline.
    package var remainingMilliseconds: Int32 {
        let now = DispatchTime.now().uptimeNanoseconds
        guard uptimeNanoseconds > now else { return 0 }
        return Int32(clamping: (uptimeNanoseconds - now + 999_999) / 1_000_000)
    }

    /// Whether the wait is over.
    package var hasPassed: Bool { DispatchTime.now().uptimeNanoseconds >= uptimeNanoseconds }
}
