import Foundation

/// The machine's two clocks: the wall clock, which people and time servers set, and the monotonic one, which runs since boot.
struct FleetClock: Sendable {
    /// A reading of both clocks.
    struct Reading: Sendable, Hashable {
        /// The wall clock.
        var time: Date
        /// Identifies the boot; nil if the system does not name it.
        var boot: String?
        /// Seconds since boot, including sleep.
        var uptimeSeconds: Double

        init(time: Date, boot: String?, uptimeSeconds: Double) {
            (self.time, self.boot, self.uptimeSeconds) = (time, boot, uptimeSeconds)
        }

        /// The reading in a ledger line; nil for a line of an earlier version.
        init?(_ entry: FleetLedger.Entry) {
            guard let boot = entry.boot, let uptime = entry.uptimeSeconds else { return nil }
            self.init(time: entry.time, boot: boot, uptimeSeconds: uptime)
        }

        /// By how many seconds the wall clock was moved between an earlier reading and this one; nil if the machine was restarted in between.
        func moved(since earlier: Reading) -> Double? {
            guard let boot, boot == earlier.boot else { return nil }
            return time.timeIntervalSince(earlier.time) - (uptimeSeconds - earlier.uptimeSeconds)
        }
    }

    /// Reads both clocks.
    let read: @Sendable () -> Reading

    /// The clocks of this machine.
    static let machine = FleetClock {
        var reading = Reading(time: Date(), boot: boot, uptimeSeconds: uptime())
        // If the process is suspended between the two readings, that would look like a moved clock.
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

    /// The name of a boot, if it can be written to a line unescaped.
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
