import Foundation

extension EvidenceSummary {
    /// The time and outcome of the last rehearsal of the way back; nil if there was none that still counts.
    package var lastRehearsal: (time: Date, isClean: Bool)? {
        evidence.rehearsal.map { ($0.time.date, $0.isClean) }
    }
}
