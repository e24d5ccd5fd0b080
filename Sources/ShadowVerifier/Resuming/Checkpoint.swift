import Foundation
@_spi(Engines) import HabitStore

/// The progress of a verification, kept in a file so that a killed one can be resumed.
///
/// It is valid only while both stores' files are exactly those that were read: after any write, everything is compared again.
struct Checkpoint: Codable {
    static let currentFormat = 1

    var formatVersion = Self.currentFormat
    /// A digest of the options and of both stores' identities.
    let question: String
    /// The files that were read.
    let stamps: [FileStamp]
    /// The findings so far.
    var report: VerificationReport
    /// The finished levels.
    var finished: [String] = []
    /// How far the contents are compared.
    var contents: ContentsProgress?
    /// Kept digests that were compared, where they differed, and the stores that have none.
    var digests = DigestFindings()

    /// Whether its numbers can be those of a comparison of a schema with so many entities. A file may hold any.
    func isPlausible(entities: Int) -> Bool {
        contents?.isPlausible(entities: entities) ?? true
            && (0...ContentsProgress.greatestCount).contains(digests.compared)
            && (0...ContentsProgress.greatestCount).contains(report.differenceCount)
            && report.levels.allSatisfy {
                (0...ContentsProgress.greatestCount).contains($0.compared)
                    && (0...ContentsProgress.greatestCount).contains($0.differences)
            }
    }
}

/// Findings about the stores' kept digests from comparing contents.
struct DigestFindings: Codable {
    var compared = 0
    var deviations: [StoreDifference] = []
    var storesWithout: Set<String> = []
}
