import Foundation
@_spi(Engines) import HabitStore

extension Comparison {
    /// Everything that a checkpoint must share with this comparison.
    private struct Question: Encodable {
        let sides: [VerificationReport.Side]
        let queries: [QueryFile.Query]
        let expectations: Expectations?
        let showsValues: Bool
        let maximumDifferences: Int
        let ignoreRules: IgnoreRules
        /// Which of the rules have expired.
        let expired: [Bool]
    }

    /// Goes on where an earlier run was interrupted, when it compared the same stores and neither was written to since.
    mutating func takeUp(_ file: CheckpointFile) throws {
        let question = try digest()
        let (found, reason) = try file.load(question: question, entities: schema.entities.count)
        checkpoints = file
        checkpoint = found ?? Checkpoint(question: question, stamps: file.stamps, report: report)
        if let found {
            (report, digests) = (found.report, found.digests)
            let levels = found.finished.joined(separator: ", ")
            report.notes.append("an interrupted verification was taken up; finished before: \(levels)")
        } else if let reason {
            report.notes.append("compared from the beginning: \(reason)")
        }
    }

    private func digest() throws -> String {
        let question = Question(
            sides: [report.a, report.b],
            queries: options.queries,
            expectations: options.expectations,
            showsValues: options.showsValues,
            maximumDifferences: options.maximumDifferences,
            ignoreRules: options.ignoreRules,
            expired: report.ignoreRules.map(\.isExpired)
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let hash = try encoder.encode(question).withUnsafeBytes { XXHash3.hash128($0) }
        return "\(hash.high)-\(hash.low)"
    }
}
