import Foundation
import HabitStore
import ShadowVerifier

/// The state of the evidence for a user's present stage. Everything counts from the user's entry into the stage, except for rehearsals.
struct StageEvidence: Sendable, Hashable, Codable {
    struct Verification: Sendable, Hashable, Codable {
        /// Bounded, since a checkpoint has to hold it; the verifier's words are short.
        static let maximumLength = 100
        let time: EvidenceInstant
        let verdict: String
        let coverage: Double
        let differences: Int
        let ignoredRules: Int

        /// Whether nothing differs except what named rules ignore. Ignored differences without a rule are a contradiction.
        var isClean: Bool {
            switch VerificationReport.Verdict(rawValue: verdict) {
            case .match: differences == 0
            case .ignored: differences == 0 && ignoredRules > 0
            case .mismatch, .skewed, .error, .timedOut, nil: false
            }
        }
    }

    /// The outcome of a rehearsal, or of a store's comparison with itself.
    struct Outcome: Sendable, Hashable, Codable {
        let time: EvidenceInstant
        let isClean: Bool
    }

    /// A refusal of the gate, without the figures in its reasons.
    struct Refusal: Sendable, Hashable, Codable {
        let to: Stage
        let kinds: [String]

        init(to: Stage, _ reasons: [GateReason]) {
            self.to = to
            kinds = Set(reasons.map(\.kind)).sorted()
        }
    }

    /// A difference, described for people.
    struct Difference: Sendable, Hashable, Codable {
        /// Bounded, since a checkpoint has to hold it.
        static let maximumLength = 1_000
        let time: EvidenceInstant
        let stage: Stage
        let message: String
    }

    private(set) var stage = Stage.off
    /// The epoch that began with it.
    private(set) var epoch = 0
    /// Since when the user is known to be in it, with the present stores; nil if unknown.
    private(set) var since: EvidenceInstant?
    /// The store that was removed, or is being removed, since the user entered the stage.
    private(set) var retired: EngineName?
    /// The first epoch whose reads and verifications count.
    private var countsFrom = 0
    /// The line format of the process that began this stay; nil for an earlier version's, whose reads have no epoch.
    private(set) var version: Int?
    /// The last verification.
    private(set) var verification: Verification?
    /// Whether the mirror was repaired since the last verification.
    private(set) var isRepaired = false
    /// Differences since the last verification.
    private(set) var differences = 0
    /// Clean shadow reads since the last difference or repair.
    private(set) var cleanReads = CleanReads()
    /// The last comparison of each store with itself.
    private(set) var selfComparisons: [StoreSide: Outcome] = [:]
    /// The last rehearsal.
    private(set) var rehearsal: Outcome?
    /// The last refusal of the gate in this stay.
    private(set) var refusal: Refusal?
    /// The last difference over all stays.
    private(set) var lastDifference: Difference?
    /// Whether the gate ever admitted the user to a stage.
    private(set) var wasPromoted = false
    /// An unrefuted finding that the stores differ, which outlives stays; nil in a checkpoint of an earlier version.
    private var found: Difference?
    /// The last complete verification without a difference, in any stay.
    private(set) var lastClean: EvidenceInstant?
    /// Clean shadow reads since the user left `off`; nil in a checkpoint of an earlier version.
    private var cleanReadsSinceOff: Int?

    /// Evidence without records.
    init() {}

    /// The evidence for a user who is at `stage`: empty, if the evidence ends in another stage.
    func at(_ stage: Stage) -> Self {
        var copy = self
        if self.stage != stage { copy.enter(stage, epoch, version, at: nil) }
        return copy
    }

    /// Takes the next record.
    ///
    /// - Parameter counts: whether its time is trusted, and whether it counts if it speaks for the user; a record against the user always counts.
    mutating func take(_ record: EvidenceRecord, counts: Bool = true) {
        guard counts || !record.event.speaksForTheUser else { return }
        let time = EvidenceInstant(record.time)
        switch record.event {
        case .stageChanged(_, let to, let epoch, _, let reason, let version, _):
            enter(
                to,
                epoch,
                counts ? version : EvidenceEvent.currentVersion,
                at: counts ? time : to == stage ? since : nil,
                counts: counts
            )
            if reason == .promoted { wasPromoted = true }
        // An admission to the user's stage shows that the user left it in between; that line was lost with its process.
        case .admitted(let to, let epoch):
            if to == stage { enter(to, epoch, EvidenceEvent.currentVersion, at: counts ? time : since, counts: counts) }
        case .verified(_, let epoch, let verdict, let coverage, let differences, _, let ignoredRules):
            let verification = Verification(
                time: time,
                verdict: String(String.UnicodeScalarView(verdict.unicodeScalars.prefix(Verification.maximumLength))),
                coverage: coverage,
                differences: differences,
                ignoredRules: ignoredRules
            )
            if let difference = difference(of: verification) { found = difference }
            // Ignores a verification that began before the user entered the stage and was recorded after.
            guard epoch >= countsFrom else { return }
            // An incomplete or inconclusive verification refutes no difference.
            if verification.isClean, coverage == 1 { (found, lastClean) = (nil, time) } else { found = openDifference }
            self.verification = verification
            isRepaired = false
            self.differences = 0
            if differences > 0 { forgetReads() }
        case .selfCompared(let side, _, let isClean): selfComparisons[side] = Outcome(time: time, isClean: isClean)
        case .shadowReads(let stage, let clean, let different, _, _, _, _, _, let epoch):
            if different > 0 {
                differ(different)
                if found == nil {
                    found = Difference(time: time, stage: stage, message: "a shadow read was answered differently")
                }
            } else if clean > 0 {
                cleanReadsSinceOff = cleanReadsOnTheWay.addingSaturated(clean)
                if stage == self.stage, isOfThisStay(epoch) { cleanReads.add(clean, at: record.time) }
            }
        case .difference(let stage, _, let message, _):
            differ(1)
            let text = String(String.UnicodeScalarView(message.unicodeScalars.prefix(Difference.maximumLength)))
            lastDifference = Difference(time: time, stage: stage, message: text)
            found = lastDifference
        case .repaired, .resynced:
            isRepaired = true
            forgetReads()
        case .rehearsed(_, let isClean, _): rehearsal = Outcome(time: time, isClean: isClean)
        case .migrated, .reset: forgetAll()
        case .putBack:
            forgetAll()
            since = counts ? time : nil
        case .retired(let engine, _, _, _): retired = engine
        case .adopted(_, let epoch, _, _), .restored(_, let epoch, _, _, _):
            forgetAll()
            since = counts ? time : nil
            // Reads and verifications that began before this and are recorded after do not count either.
            countsFrom = max(countsFrom, epoch)
        case .refused(let to, let reasons): refusal = Refusal(to: to, reasons)
        // A reader that starts here begins with its state.
        case .checkpoint: break
        // It may be a difference of a kind that this version does not know.
        case .unknown:
            found = openDifference
            verification = nil
            forgetReads()
        case .backfilled, .killed, .rearmed: break
        }
        // A checkpoint of an earlier version lacks this, and a process may have died before it reported its line to the stores.
        if counts, stage > .off, since == nil { since = time }
    }

    /// Whether reads were made since the user entered the stage. A process may record late what it read in an earlier stay at the same stage. An
    /// epoch later than the stay's first one belongs to the same stay.
    private func isOfThisStay(_ epoch: Int?) -> Bool { epoch.map { $0 >= countsFrom } ?? (version == nil) }

    /// The finding that the stores differ, if no complete verification has refuted it since, regardless of stage changes.
    var openDifference: Difference? {
        if let found { return found }
        if let verifiedDifference { return verifiedDifference }
        // A checkpoint of an earlier version has only the count.
        guard differences > 0 else { return nil }
        return lastDifference
            ?? Difference(
                time: since ?? EvidenceInstant(.distantPast),
                stage: stage,
                message: "a read was answered differently"
            )
    }

    /// The clean shadow reads since the user left `off`, in all stages.
    var cleanReadsOnTheWay: Int { cleanReadsSinceOff ?? cleanReads.all }

    /// The difference found by the last verification, for people; nil if it found none.
    var verifiedDifference: Difference? { verification.flatMap(difference) }

    private func difference(of verification: Verification) -> Difference? {
        guard verification.differences > 0 else { return nil }
        let count = verification.differences
        let message = "a verification has found \(count.counted("difference"))"
        return Difference(time: verification.time, stage: stage, message: message)
    }

    /// Identifies the stay: another stay has another value.
    var stay: [Int] { [stage.position, epoch] }

    private mutating func enter(
        _ stage: Stage,
        _ epoch: Int,
        _ version: Int?,
        at time: EvidenceInstant?,
        counts: Bool = true
    ) {
        let rehearsal = rehearsal
        if self.stage == .off || stage == .off {
            cleanReadsSinceOff = 0
        } else {
            cleanReadsSinceOff = cleanReadsOnTheWay
        }
        forget()
        self.rehearsal = rehearsal
        self.stage = stage
        self.epoch = epoch
        since = time
        retired = nil
        // An untrusted line must not make reads of an earlier stage count by moving the stay's beginning back.
        countsFrom = counts ? epoch : max(countsFrom, epoch)
        self.version = version
        refusal = nil
    }

    /// Earlier proofs concern other records; a difference stays open until a complete verification finds none.
    private mutating func forgetAll() {
        forget()
        (cleanReadsSinceOff, lastClean) = (0, nil)
    }

    /// Earlier proofs belong to another stay.
    private mutating func forget() {
        found = openDifference
        verification = nil
        isRepaired = false
        differences = 0
        cleanReads.removeAll()
        selfComparisons = [:]
        rehearsal = nil
    }

    /// Drops what speaks for the user, and keeps what speaks against.
    mutating func forgetGoodNews() {
        (since, lastClean) = (nil, nil)
        if verification?.isClean == true { verification = nil }
        forgetReads()
        selfComparisons = selfComparisons.filter { !$0.value.isClean }
        if rehearsal?.isClean == true { rehearsal = nil }
    }

    private mutating func differ(_ count: Int) {
        differences = differences.addingSaturated(count)
        forgetReads()
    }

    private mutating func forgetReads() {
        cleanReads.removeAll()
        cleanReadsSinceOff = 0
    }
}

/// Clean shadow reads by time, in a bounded number of groups, since a checkpoint has to hold them.
struct CleanReads: Sendable, Hashable, Codable {
    /// Reads that are neighbours in time.
    struct Group: Sendable, Hashable, Codable {
        var earliest: EvidenceInstant
        var latest: EvidenceInstant
        var count: Int
    }

    static let maximumGroups = 64

    /// In the order of recording.
    private(set) var groups: [Group] = []

    /// Adds reads. If that makes too many groups, two neighbours are joined: those with the shortest common span relative to their age, so that
    /// recent groups stay exact.
    mutating func add(_ count: Int, at time: Date) {
        let time = EvidenceInstant(time)
        groups.append(Group(earliest: time, latest: time, count: count))
        guard groups.count > Self.maximumGroups else { return }
        let now = groups.map(\.latest).max() ?? time
        let pair = (0..<groups.count - 1).min { cost($0, now) < cost($1, now) } ?? 0
        let second = groups.remove(at: pair + 1)
        groups[pair].earliest = min(groups[pair].earliest, second.earliest)
        groups[pair].latest = max(groups[pair].latest, second.latest)
        groups[pair].count = groups[pair].count.addingSaturated(second.count)
    }

    mutating func removeAll() { groups = [] }

    /// The number of reads.
    var all: Int { groups.reduce(0) { $0.addingSaturated($1.count) } }

    /// The number of reads whose time counts. A group counts if both its ends do.
    func count(where counts: (Date) -> Bool) -> Int {
        groups.filter { counts($0.earliest.date) && counts($0.latest.date) }.reduce(0) { $0.addingSaturated($1.count) }
    }

    /// The loss of precision from joining a group with the next one.
    private func cost(_ index: Int, _ now: EvidenceInstant) -> Double {
        let (first, second) = (groups[index], groups[index + 1])
        let span = max(first.latest, second.latest).date.timeIntervalSince(min(first.earliest, second.earliest).date)
        return span / (1 + now.date.timeIntervalSince(min(first.earliest, second.earliest).date))
    }
}
