import Foundation
import HabitStore

/// Something that happened to a user in the rollout, which the gate judges by. Contains none of the user's values.
///
/// The JSON form is one flat object: the case's name as `kind`, and the case's values by their names, without those that are nil. Stages, sides and
/// reasons are their names, tokens are numbers. Only a checkpoint contains an object, `state`:
///
/// ```json
/// {"epoch":3,"from":"shadow","kind":"stageChanged","reason":"promoted","to":"live","token":4711,"version":2}
/// {"clean":250,"different":0,"epoch":3,"failed":0,"kind":"shadowReads","rerun":3,"shed":2,"skewed":1,"stage":"shadow","timedOut":0}
/// ```
public enum EvidenceEvent: Sendable, Hashable {
    /// The user moved to another stage, at a token; `epoch` is the one that began with it. `version` is the line format of the processes in this
    /// stage: nil if an earlier version began it, whose shadow reads have no epoch. `because` is the reason given by the person who moved the user.
    case stageChanged(
        from: Stage,
        to: Stage,
        epoch: Int,
        token: HistoryToken,
        reason: StageChangeReason,
        version: Int? = currentVersion,
        because: String? = nil
    )
    /// The gate admitted the user, who was at `epoch` then. Written before the move.
    case admitted(to: Stage, epoch: Int)
    /// The mirror was filled from a snapshot at a token.
    case backfilled(token: HistoryToken, records: Int)
    /// The contents of both stores were compared. `verdict` is the verifier's word (`match`, `mismatch`, `skewed`, `ignored`, `error`, `timedOut`),
    /// `coverage` the share of the records that was compared, 0…1, `differences` the number of those that no rule ignores, and `ignoredRules` the
    /// number of rules that ignored something.
    case verified(
        token: HistoryToken,
        epoch: Int,
        verdict: String,
        coverage: Double,
        differences: Int,
        anomalies: Int,
        ignoredRules: Int
    )
    /// A store was compared with itself (A/A comparison).
    case selfCompared(side: StoreSide, token: HistoryToken, isClean: Bool)
    /// Shadow reads since the previous event of this kind, by outcome: see ``ShadowVerdict``, whose `match` is `clean` here, `mismatch` is
    /// `different`, and `error` is `failed`. `epoch` is the one in which they were made; nil in lines of earlier versions.
    case shadowReads(
        stage: Stage,
        clean: Int,
        different: Int,
        skewed: Int,
        failed: Int,
        shed: Int,
        rerun: Int = 0,
        timedOut: Int = 0,
        epoch: Int? = nil
    )
    /// The stores answered differently; `message` says how, without a user's values. `epoch` is the one in which it was found; nil in lines of
    /// earlier versions.
    case difference(stage: Stage, token: HistoryToken, message: String, epoch: Int? = nil)
    /// Records of the mirror were repaired.
    case repaired(token: HistoryToken, records: Int)
    /// The following store is about to be rebuilt from the serving one, in `epoch`; the copy and a verification follow.
    case resynced(engine: EngineName, epoch: Int, token: HistoryToken, by: String, because: String)
    /// Both stores were migrated to another version of the schema, and reached a token with it.
    case migrated(from: Schema.Version, to: Schema.Version, token: HistoryToken)
    /// The way back was rehearsed on copies; `message` says what went wrong.
    case rehearsed(token: HistoryToken, isClean: Bool, message: String?)
    /// The kill switch was pulled.
    case killed(trigger: String)
    /// A person armed the kill switch again.
    case rearmed(by: String)
    /// The gate refused a stage.
    case refused(to: Stage, reasons: [GateReason])
    /// The user's folder, or the part of it that `what` names, was restored from a copy or moved: earlier proof concerned other files.
    case putBack(what: String)
    /// A person accepted a store that is older than what was acknowledged, from `epoch` on: earlier proof concerned other records.
    case adopted(engine: EngineName, epoch: Int, by: String, because: String)
    /// The store that the user had left was removed, or is being removed: brought to the token of the serving store, a verification of this epoch
    /// found it equal.
    case retired(engine: EngineName, epoch: Int, token: HistoryToken, by: String)
    /// A person accepted a backup of the user as current, from `epoch` on: what was written after `token` is lost, and earlier proof concerned other
    /// records.
    case restored(engine: EngineName, epoch: Int, token: HistoryToken, by: String, because: String)
    /// A person started the evidence from scratch. It is the first line of its chain, and describes the old one: the last record's number and hash,
    /// the size of the file, and the name under which it is kept; nil if there was none.
    case reset(because: String, by: String, sequence: Int, hash: String, sizeBytes: Int, file: String?)
    /// The summary of all records before it.
    case checkpoint(EvidenceCheckpoint)
    /// An event that this version does not know, or whose values it cannot read, because a newer one wrote it.
    case unknown(kind: String)

    /// The line format of this version: shadow reads have an epoch from 2 on.
    public static let currentVersion = 2
}

extension EvidenceEvent: Codable {
    /// One row for each kind: the names of its values in JSON.
    private static let rows: [String: FlatCase<Self>] = [
        "stageChanged": FlatCase(
            Self.stageChanged,
            ["from", "to", "epoch", "token", "reason", "version", "because"]
        ),
        "admitted": FlatCase(Self.admitted, ["to", "epoch"]),
        "backfilled": FlatCase(Self.backfilled, ["token", "records"]),
        "verified": FlatCase(
            Self.verified,
            ["token", "epoch", "verdict", "coverage", "differences", "anomalies", "ignoredRules"]
        ),
        "selfCompared": FlatCase(Self.selfCompared, ["side", "token", "isClean"]),
        "shadowReads": FlatCase(
            countedReads,
            ["stage", "clean", "different", "skewed", "failed", "shed", "rerun", "timedOut", "epoch"]
        ),
        "difference": FlatCase(Self.difference, ["stage", "token", "message", "epoch"]),
        "repaired": FlatCase(Self.repaired, ["token", "records"]),
        "resynced": FlatCase(Self.resynced, ["engine", "epoch", "token", "by", "because"]),
        "migrated": FlatCase(Self.migrated, ["from", "to", "token"]),
        "rehearsed": FlatCase(Self.rehearsed, ["token", "isClean", "message"]),
        "killed": FlatCase(Self.killed, ["trigger"]),
        "rearmed": FlatCase(Self.rearmed, ["by"]),
        "refused": FlatCase(Self.refused, ["to", "reasons"]),
        "putBack": FlatCase(Self.putBack, ["what"]),
        "adopted": FlatCase(Self.adopted, ["engine", "epoch", "by", "because"]),
        "retired": FlatCase(Self.retired, ["engine", "epoch", "token", "by"]),
        "restored": FlatCase(Self.restored, ["engine", "epoch", "token", "by", "because"]),
        "reset": FlatCase(Self.reset, ["because", "by", "sequence", "hash", "sizeBytes", "file"]),
        "checkpoint": FlatCase(Self.checkpoint, ["state"]),
    ]

    /// Reads the flat form. A kind that this version does not know, or whose values it cannot read, becomes `unknown`; the record around it stays
    /// valid.
    public init(from decoder: any Decoder) throws {
        let fields = try FlatFields(decoder)
        let kind: String = try fields("kind")
        do {
            self = try Self.rows[kind]?.read(fields) ?? .unknown(kind: kind)
        } catch is DecodingError {
            self = .unknown(kind: kind)
        }
    }

    /// Writes the flat form.
    public func encode(to encoder: any Encoder) throws {
        let (kind, values) = parts
        try FlatFields.encode([("kind", kind)], to: encoder)
        try Self.rows[kind]?.encode(values, to: encoder)
    }

    /// The case's name, and its values in the order of its row. What a person wrote contains no passwords.
    private var parts: (kind: String, values: [(any Encodable)?]) {
        switch self {
        case .stageChanged(let from, let to, let epoch, let token, let reason, let version, let because):
            ("stageChanged", [from, to, epoch, token, reason, version, because])
        case .admitted(let stage, let epoch): ("admitted", [stage, epoch])
        case .backfilled(let token, let records): ("backfilled", [token, records])
        case .verified(let token, let epoch, let verdict, let coverage, let differences, let anomalies, let ignored):
            ("verified", [token, epoch, verdict, coverage, differences, anomalies, ignored])
        case .selfCompared(let side, let token, let isClean): ("selfCompared", [side, token, isClean])
        case .shadowReads(
            let stage,
            let clean,
            let different,
            let skewed,
            let failed,
            let shed,
            let rerun,
            let timedOut,
            let epoch
        ):
            ("shadowReads", [stage, clean, different, skewed, failed, shed, rerun, timedOut, epoch])
        case .difference(let stage, let token, let message, let epoch): ("difference", [stage, token, message, epoch])
        case .repaired(let token, let records): ("repaired", [token, records])
        case .migrated(let from, let to, let token): ("migrated", [from, to, token])
        case .rehearsed(let token, let isClean, let message): ("rehearsed", [token, isClean, message])
        case .killed(let trigger): ("killed", [trigger])
        case .rearmed(let person): ("rearmed", [person])
        case .refused(let stage, let reasons): ("refused", [stage, reasons])
        case .putBack(let what): ("putBack", [what])
        case .adopted(let engine, let epoch, let person, let reason):
            ("adopted", [engine, epoch, person, Passwords.redacted(reason)])
        case .resynced(let engine, let epoch, let token, let person, let reason):
            ("resynced", [engine, epoch, token, person, Passwords.redacted(reason)])
        case .retired(let engine, let epoch, let token, let person): ("retired", [engine, epoch, token, person])
        case .restored(let engine, let epoch, let token, let person, let reason):
            ("restored", [engine, epoch, token, person, Passwords.redacted(reason)])
        case .reset(let reason, let person, let sequence, let hash, let sizeBytes, let file):
            ("reset", [Passwords.redacted(reason), person, sequence, hash, sizeBytes, file])
        case .checkpoint(let state): ("checkpoint", [state])
        case .unknown(let kind): (kind, [])
        }
    }

    /// Earlier versions did not count reads that were repeated, or that took too long.
    private static let countedReads: @Sendable (Stage, Int, Int, Int, Int, Int, Int?, Int?, Int?) -> Self = {
        .shadowReads(
            stage: $0,
            clean: $1,
            different: $2,
            skewed: $3,
            failed: $4,
            shed: $5,
            rerun: $6 ?? 0,
            timedOut: $7 ?? 0,
            epoch: $8
        )
    }
}

/// The summary of all records before a line of the evidence, so that the gate need not read them.
///
/// It is written only after a chain that was found intact, and is itself a line of that chain.
public struct EvidenceCheckpoint: Sendable, Hashable, Codable {
    /// The number of records before it.
    public let records: Int
    /// The stores' anchor, which was found among the records; nil if they had none.
    public let anchor: EvidenceHead?
    let evidence: StageEvidence

    init(records: Int, anchor: EvidenceHead?, evidence: StageEvidence) {
        self.records = records
        self.anchor = anchor
        self.evidence = evidence
    }

    /// The user's stage, according to the records.
    public var stage: Stage { evidence.stage }
}

/// A time in the evidence, to the millisecond. In JSON it is the number of milliseconds since 1970, so reading it gives exactly the written time.
struct EvidenceInstant: Sendable, Hashable {
    private let milliseconds: Int

    init(_ date: Date) { milliseconds = Int((date.timeIntervalSince1970 * 1_000).rounded()) }

    var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }
}

extension EvidenceInstant: Comparable {
    static func < (a: Self, b: Self) -> Bool { a.milliseconds < b.milliseconds }
}

extension EvidenceInstant: Codable {
    init(from decoder: any Decoder) throws { milliseconds = try decoder.singleValueContainer().decode(Int.self) }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(milliseconds)
    }
}
