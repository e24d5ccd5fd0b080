import Foundation

/// How long a wave has been watched, by a clock that nobody sets.
///
/// While the machine is the one that was started before the wave's time began, that is the difference of two readings of its own clock, and
/// whatever is done to the clock of the day changes nothing. Where it was started again, or the fleet runs on another machine, what was
/// noted last counts, and from then on what runs see: neither clock says how long nobody could write.
struct SoakClock {
    /// What an earlier look has noted: for which line of the ledger, in which start of the machine, and how long it was then.
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

    /// The name of the word that notes are kept under.
    static let word = "soaked"

    /// How long it has been watched.
    let seconds: Double
    /// Whether the machine was started since, so that not all of the time counts.
    let isInterrupted: Bool
    /// What is to be noted.
    let note: String?

    /// - Parameters:
    ///   - entry: the line of the ledger that the time began with.
    ///   - word: what was noted last.
    init(since entry: FleetLedger.Entry, noted word: String?, _ now: FleetClock.Reading) {
        guard let boot = now.boot, let begun = FleetClock.Reading(entry) else {
            // A line of an earlier version, or a system without such a clock: one that was put back begins the time anew.
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
    /// A time of the ledger as the clock of the day would have it now: where that was put back since, times from before are later
    /// than they were.
    ///
    /// - Returns: the earliest time that whatever has happened since can have.
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

/// Notices that the clock of the day was moved.
struct ClockWatch {
    /// What counts: less is what a time server does to a clock that runs wrong.
    static let leastSeconds = 10.0

    private var last: FleetClock.Reading?

    /// - Parameter last: the last line of the ledger.
    init(_ last: FleetLedger.Entry?) { self.last = last.flatMap(FleetClock.Reading.init) }

    /// By how many seconds the clock was moved since the last look; nil where it was not.
    mutating func moved(_ now: FleetClock.Reading) -> Double? {
        defer { last = now }
        guard let last, let moved = now.moved(since: last), abs(moved) >= Self.leastSeconds else { return nil }
        return moved
    }
}
