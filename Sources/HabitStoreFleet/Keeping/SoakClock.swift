import Foundation

/// Measures how long a wave has been watched, by the monotonic clock.
///
/// If the machine was not restarted since the wave's soak began, that is the difference of two monotonic readings, which no change of the wall clock
/// affects. After a restart, or on another machine, the last noted duration counts, plus the time since the first look after the restart: neither
/// clock says for how long no user could write.
struct SoakClock {
    /// The note of an earlier look: the ledger line, the boot, the uptime, and the duration so far.
    private struct Note {
        let sequence: Int
        let boot: String
        let uptimeSeconds: Double
        let seconds: Double

        init?(_ word: String?) {
            let parts = word?.split(separator: " ").map(String.init) ?? []
            guard parts.count == 4, let sequence = Int(parts[0]), let uptime = Double(parts[2]),
                let seconds = Double(parts[3]), uptime.isFinite, seconds.isFinite, seconds >= 0
            else { return nil }
            (self.sequence, boot, uptimeSeconds, self.seconds) = (sequence, parts[1], uptime, seconds)
        }
    }

    /// The key of the note in the index.
    static let word = "soaked"

    /// How long the wave has been watched, in seconds.
    let seconds: Double
    /// Whether the machine was restarted since, so that not all of the time counts.
    let isInterrupted: Bool
    /// The note to store.
    let note: String?

    /// - Parameters:
    ///   - entry: the ledger line at which the soak began.
    ///   - word: the last stored note.
    init(since entry: FleetLedger.Entry, noted word: String?, _ now: FleetClock.Reading) {
        guard let boot = now.boot, let begun = FleetClock.Reading(entry) else {
            // A line of an earlier version, or a system without such a clock: setting the wall clock back restarts the soak.
            let gone = now.time.timeIntervalSince(entry.time)
            (seconds, isInterrupted, note) = (max(0, gone), false, nil)
            return
        }
        if begun.boot == boot {
            (seconds, isInterrupted) = (max(0, now.uptimeSeconds - begun.uptimeSeconds), false)
        } else {
            let known = Note(word).flatMap { $0.sequence == entry.sequence ? $0 : nil }
            let since = known.flatMap { $0.boot == boot ? max(0, now.uptimeSeconds - $0.uptimeSeconds) : nil } ?? 0
            (seconds, isInterrupted) = ((known?.seconds ?? 0) + since, true)
        }
        note = "\(entry.sequence) \(boot) \(now.uptimeSeconds) \(seconds)"
    }
}

extension FleetLedger.Contents {
    /// Converts a ledger time to the current wall clock: if the clock was set back since, earlier times would otherwise seem too late.
    ///
    /// - Returns: the earliest wall-clock time of any event since the entry.
    func earliest(since entry: FleetLedger.Entry, _ now: FleetClock.Reading) -> Date {
        var (moved, least) = (0.0, 0.0)
        let later = entries.filter { $0.sequence >= entry.sequence }.compactMap(FleetClock.Reading.init) + [now]
        for (one, next) in zip(later, later.dropFirst()) {
            guard let step = next.moved(since: one), abs(step) >= ClockWatch.leastSeconds else { continue }
            moved += step
            least = min(least, moved)
        }
        return entry.time.addingTimeInterval(least)
    }
}

/// Detects moves of the wall clock.
struct ClockWatch {
    /// The smallest move that counts; time servers make smaller ones to correct a clock.
    static let leastSeconds = 10.0

    private var last: FleetClock.Reading?

    /// - Parameter last: the ledger's last line.
    init(_ last: FleetLedger.Entry?) { self.last = last.flatMap(FleetClock.Reading.init) }

    /// By how many seconds the wall clock was moved since the last call; nil if it was not.
    mutating func moved(_ now: FleetClock.Reading) -> Double? {
        defer { last = now }
        guard let last, let moved = now.moved(since: last), abs(moved) >= Self.leastSeconds else { return nil }
        return moved
    }
}

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
