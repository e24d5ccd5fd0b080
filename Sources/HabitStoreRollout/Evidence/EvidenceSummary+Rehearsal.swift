import Foundation

extension EvidenceSummary {
    /// When the way back was rehearsed last, and whether that went well; nil where it was not, or where that does not count any more.
    package var lastRehearsal: (time: Date, isClean: Bool)? {
        evidence.rehearsal.map { ($0.time.date, $0.isClean) }
    }
}
