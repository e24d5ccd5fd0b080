import Foundation
import HabitStore

@testable import HabitStoreRollout

/// One event of each kind, and logs of given events.
enum EvidenceSample {
    static let start = Date(timeIntervalSince1970: 1_780_000_000.25)

    static let events: [EvidenceEvent] = [
        .stageChanged(from: .shadow, to: .live, epoch: 3, token: token(4711), reason: .promoted),
        .backfilled(token: token(12), records: 400),
        .verified(
            token: token(13),
            epoch: 3,
            verdict: "match",
            coverage: 0.5,
            differences: 0,
            anomalies: 2,
            ignoredRules: 1
        ),
        .selfCompared(side: .new, token: token(14), isClean: true),
        .shadowReads(stage: .shadow, clean: 250, different: 0, skewed: 1, failed: 0, shed: 2, rerun: 3, timedOut: 4),
        .shadowReads(stage: .shadow, clean: 1, different: 0, skewed: 0, failed: 0, shed: 0, epoch: 3),
        .difference(stage: .live, token: token(15), message: "query \"streaks\"\ngives one record more/less"),
        .difference(stage: .live, token: token(15), message: "one record more", epoch: 3),
        .repaired(token: token(16), records: 1),
        .rehearsed(token: token(17), isClean: false, message: "no space"),
        .rehearsed(token: token(17), isClean: true, message: nil),
        .killed(trigger: "sentinel"),
        .rearmed(by: "root"),
        .refused(to: .complete, reasons: reasons),
        .stageChanged(from: .off, to: .dualwrite, epoch: 2, token: token(1), reason: .promoted, version: nil),
        .admitted(to: .live, epoch: 2),
        .putBack(what: "the sqlite store"),
        .adopted(engine: .sqlite, epoch: 9, by: "root", because: "the backup is all there is"),
        .retired(engine: .sqlite, epoch: 11, token: token(18), by: "root"),
        .restored(engine: .lmdb, epoch: 12, token: token(18), by: "root", because: "the disk is new"),
        .reset(because: "a disk died", by: "root", sequence: 7, hash: EvidenceHead.start.hash, sizeBytes: 9, file: "a"),
        .reset(because: "a disk died", by: "root", sequence: 0, hash: EvidenceHead.start.hash, sizeBytes: 0, file: nil),
        .checkpoint(EvidenceCheckpoint(records: 7, anchor: .start, evidence: evidence)),
    ]

    /// The evidence of a user who was verified, rehearsed, compared and read.
    private static let evidence: StageEvidence = {
        do {
            return try GateCase(.shadow).facts().evidence.evidence
        } catch {
            preconditionFailure("the sample cannot be made: \(error)")
        }
    }()

    static let reasons: [GateReason] =
        [
            .stageSkipped(from: .off, to: .live), .alreadyThere, .notProposed(wanted: .shadow), .killed, .notBackfilled,
            .mirrorParted, .notComplete(stage: .live), .retentionNotOver(seconds: 86_400),
            .lagging(transactions: 3),
            .verificationMissing, .verificationStale(seconds: 90_000),
            .verificationNotClean(verdict: "mismatch", differences: 2), .coverageIncomplete(coverage: 0.999999),
            .repairedSince, .selfComparisonMissing(side: .old), .selfComparisonFailed(side: .new),
            .tooFewShadowReads(have: 3, need: 1_000),
            .shadowDifferences(count: 1), .rollbackNotRehearsed, .rehearsalFailed, .evidenceExpired,
            .evidenceDamaged(line: 7, why: "it is not a record"), .ignoredRules(count: 2), .anchorMissing,
            .evidenceUnwritable,
            .anotherUsersEvidence,
        ] + GateReason.Hold.allCases.map { .notTakenBack(wanted: .off, because: $0) }

    static func token(_ number: Int64) -> HistoryToken { HistoryToken(rawValue: number) }

    /// Bytes of an intact log.
    static func bytes(_ events: [EvidenceEvent], at time: Date = start) throws -> [UInt8] {
        try bytes(events.map { ($0, time) })
    }

    static func bytes(_ events: [(EvidenceEvent, Date)]) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var head = EvidenceHead.start
        for (event, time) in events {
            let line = try EvidenceLine.make(EvidenceLine.content(event, at: time), after: head)
            bytes += line.bytes
            head = line.head
        }
        return bytes
    }

    /// An intact chain of events with their times.
    static func chain(_ events: [(EvidenceEvent, Date)]) throws -> EvidenceChain { EvidenceChain(try bytes(events)) }
}
