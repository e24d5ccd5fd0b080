import Foundation
import ShadowVerifier

/// What the evidence of a user's present stage comes to. Everything counts from the user's entry into the stage, except
/// for rehearsals.
struct StageEvidence {
    struct Verification {
        let time: Date
        let verdict: String
        let coverage: Double
        let differences: Int
        let ignoredRules: Int

        /// Whether nothing differs but what named rules ignore. Differences that are ignored by no rule are a contradiction.
        var isClean: Bool {
            switch VerificationReport.Verdict(rawValue: verdict) {
            case .match: differences == 0
            case .ignored: differences == 0 && ignoredRules > 0
            case .mismatch, .skewed, .error, .timedOut, nil: false
            }
        }
    }

    /// The last one.
    private(set) var verification: Verification?
    /// Whether the mirror was repaired since the last verification.
    private(set) var isRepaired = false
    /// Differences since the last verification.
    private(set) var differences = 0
    /// Clean shadow reads since the last difference or repair.
    private(set) var cleanReads: [(time: Date, count: Int)] = []
    /// The last comparison of each store with itself.
    private(set) var selfComparisons: [StoreSide: (time: Date, isClean: Bool)] = [:]
    /// The last rehearsal.
    private(set) var rehearsal: (time: Date, isClean: Bool)?

    private var stage = Stage.off
    private var epoch = 0

    /// - Parameter stage: the one that the user is in. Evidence that ends in another stage says nothing about it.
    init(_ chain: EvidenceChain, in stage: Stage) {
        for record in chain.records { take(record) }
        if self.stage != stage { enter(stage, epoch) }
    }

    private mutating func take(_ record: EvidenceRecord) {
        switch record.event {
        case .stageChanged(_, let to, let epoch, _, _): enter(to, epoch)
        case .verified(_, let epoch, let verdict, let coverage, let differences, _, let ignoredRules):
            // One that was begun before the user came here, and recorded after.
            guard epoch >= self.epoch else { return }
            verification = Verification(
                time: record.time,
                verdict: verdict,
                coverage: coverage,
                differences: differences,
                ignoredRules: ignoredRules
            )
            isRepaired = false
            self.differences = 0
            if differences > 0 { cleanReads = [] }
        case .selfCompared(let side, _, let isClean): selfComparisons[side] = (record.time, isClean)
        case .shadowReads(let stage, let clean, let different, _, _, _, _, _):
            if different > 0 {
                differ(different)
            } else if stage == self.stage, clean > 0 {
                cleanReads.append((record.time, clean))
            }
        case .difference: differ(1)
        case .repaired:
            isRepaired = true
            cleanReads = []
        case .rehearsed(_, let isClean, _): rehearsal = (record.time, isClean)
        // What was proven was proven of other records.
        case .migrated:
            verification = nil
            isRepaired = false
            differences = 0
            cleanReads = []
            selfComparisons = [:]
            rehearsal = nil
        // It may be a difference of a kind that this version has no word for.
        case .unknown:
            verification = nil
            cleanReads = []
        case .backfilled, .killed, .rearmed, .refused: break
        }
    }

    private mutating func enter(_ stage: Stage, _ epoch: Int) {
        self.stage = stage
        self.epoch = epoch
        verification = nil
        isRepaired = false
        differences = 0
        cleanReads = []
        selfComparisons = [:]
    }

    private mutating func differ(_ count: Int) {
        differences = differences.addingSaturated(count)
        cleanReads = []
    }
}
