#if CRASH_POINTS
import Foundation
import Synchronization

/// Named points where tests kill the process: `HABITSTORE_CRASH_POINT=preferences.committed` kills it at that point. Only debug builds have
/// them.
package enum ImportCrashPoint {
    private static let wanted: (name: String, count: Int)? = {
        guard let text = ProcessInfo.processInfo.environment["HABITSTORE_CRASH_POINT"] else { return nil }
        let parts = text.split(separator: ":")
        guard let name = parts.first else { return nil }
        return (String(name), parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
    }()
    private static let reached = Atomic<Int>(0)

    package static func reach(_ name: String) {
        guard let wanted, wanted.name == name, reached.add(1, ordering: .relaxed).newValue == wanted.count else {
            return
        }
        kill(getpid(), SIGKILL)
    }
}
#else
/// Named points where tests kill the process; they do nothing in release builds.
package enum ImportCrashPoint {
    @inline(__always) package static func reach(_ name: StaticString) {}
}
#endif
