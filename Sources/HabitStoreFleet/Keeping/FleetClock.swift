import Foundation

/// The clocks of the machine: that of the day, which people and time servers set, and the one that runs from the machine's start on.
struct FleetClock: Sendable {
    /// What both say.
    struct Reading: Sendable, Hashable {
        /// The time of the day.
        var time: Date
        /// Which start of the machine; nil where the system has no name for it.
        var boot: String?
        /// How long ago that was, in seconds, times in which the machine slept included.
        var uptimeSeconds: Double

        init(time: Date, boot: String?, uptimeSeconds: Double) {
            (self.time, self.boot, self.uptimeSeconds) = (time, boot, uptimeSeconds)
        }

        /// That of a line of the ledger; nil for one of an earlier version.
        init?(_ entry: FleetLedger.Entry) {
            guard let boot = entry.boot, let uptime = entry.uptimeSeconds else { return nil }
            self.init(time: entry.time, boot: boot, uptimeSeconds: uptime)
        }

        /// By how many seconds the clock of the day was moved between an earlier reading and this one; nil where the machine was
        /// started in between, and nobody can tell.
        func moved(since earlier: Reading) -> Double? {
            guard let boot, boot == earlier.boot else { return nil }
            return time.timeIntervalSince(earlier.time) - (uptimeSeconds - earlier.uptimeSeconds)
        }
    }

    /// Reads both.
    let read: @Sendable () -> Reading

    /// The machine's own.
    static let machine = FleetClock {
        var reading = Reading(time: Date(), boot: boot, uptimeSeconds: uptime())
        // A process that is stopped between the two would take that for a clock that was moved.
        for _ in 0..<3 {
            let before = reading.uptimeSeconds
            reading.time = Date()
            reading.uptimeSeconds = uptime()
            if reading.uptimeSeconds - before < 0.1 { break }
        }
        return reading
    }

    #if canImport(Darwin)
    private static let boot: String? = {
        var size = 0
        guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: size)
        guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else { return nil }
        return name(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
    }()
    private static let clock = CLOCK_MONOTONIC
    #else
    private static let boot: String? = (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8))
        .flatMap(name)
    private static let clock = CLOCK_BOOTTIME
    #endif

    /// The name of a start, if it can stand in a line as it is.
    private static func name(_ text: String) -> String? {
        let name = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let isPlain = name.utf8.allSatisfy {
            ($0 >= 0x30 && $0 <= 0x39) || ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A) || $0 == 0x2D
        }
        return name.isEmpty || !isPlain ? nil : name
    }

    private static func uptime() -> Double {
        var now = timespec()
        clock_gettime(clock, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
}
