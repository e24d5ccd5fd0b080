import Foundation
@_spi(Engines) import HabitStore

/// How far a verification has come, kept in a file so that one that was killed can be taken up.
///
/// It is believed only as long as both stores' files are, to the last write, those that were read: behind a write,
/// whoever made it, everything is compared again.
struct Checkpoint: Codable {
    static let currentFormat = 1

    var formatVersion = Self.currentFormat
    /// What was asked: a digest of the options and of both stores' identities.
    let question: String
    /// The files that were read.
    let stamps: [FileStamp]
    /// What was found so far.
    var report: VerificationReport
    /// The levels that are behind it.
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

/// What comparing contents told of the digests that the stores keep.
struct DigestFindings: Codable {
    var compared = 0
    var deviations: [StoreDifference] = []
    var storesWithout: Set<String> = []
}
