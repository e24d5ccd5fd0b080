import Foundation
import HabitStore
import ShadowVerifier

/// The result of a full verification with a planted fault.
struct CaughtFault {
    let report: VerificationReport

    /// The differences by level, in the order of the levels, without levels that found none.
    var levels: [(name: String, differences: ArraySlice<StoreDifference>)] {
        var start = 0
        return report.levels.compactMap { level in
            let end = min(start + level.differences, report.differences.count)
            defer { start = end }
            return level.differences == 0 ? nil : (level.name, report.differences[start..<end])
        }
    }

    /// Whether a level reported the trace.
    func says(_ trace: PlantedFault.Trace) -> Bool {
        levels.contains { level in
            level.name == trace.level
                && level.differences.contains { difference in
                    (trace.entity == nil || difference.entity == trace.entity)
                        && (trace.id == nil || difference.id == trace.id)
                        && (trace.attribute == nil || difference.attribute == trace.attribute)
                        && (trace.token.map { difference.message.contains("transaction \($0)") } ?? true)
                }
        }
    }

    /// The verdict and the first differences of each level.
    var description: String {
        let lines = levels.flatMap { level in level.differences.prefix(6).map { "\(level.name): \($0.message)" } }
        return "\(report.verdict.rawValue) \(report.reason ?? "")\n" + lines.joined(separator: "\n")
    }
}
