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
    /// Reads the flat form. A kind that this version does not know, or whose values it cannot read, becomes `unknown`; the record around it stays
    /// valid.
    public init(from decoder: any Decoder) throws {
        let fields = try FlatFields(decoder)
        let kind: String = try fields("kind")
        do {
            self = try Self.known(kind, fields) ?? .unknown(kind: kind)
        } catch is DecodingError {
            self = .unknown(kind: kind)
        }
    }

    private static func known(_ kind: String, _ fields: FlatFields) throws -> Self? {
        switch kind {
        case "stageChanged":
            .stageChanged(
                from: try fields("from"),
                to: try fields("to"),
                epoch: try fields("epoch"),
                token: try fields("token"),
                reason: try fields("reason"),
                version: try fields.optional("version"),
                because: try fields.optional("because")
            )
        case "admitted": .admitted(to: try fields("to"), epoch: try fields("epoch"))
        case "backfilled": .backfilled(token: try fields("token"), records: try fields("records"))
        case "verified":
            .verified(
                token: try fields("token"),
                epoch: try fields("epoch"),
                verdict: try fields("verdict"),
                coverage: try fields("coverage"),
                differences: try fields("differences"),
                anomalies: try fields("anomalies"),
                ignoredRules: try fields("ignoredRules")
            )
        case "selfCompared":
            .selfCompared(side: try fields("side"), token: try fields("token"), isClean: try fields("isClean"))
        case "shadowReads":
            .shadowReads(
                stage: try fields("stage"),
                clean: try fields("clean"),
                different: try fields("different"),
                skewed: try fields("skewed"),
                failed: try fields("failed"),
                shed: try fields("shed"),
                // Earlier versions had no such verdicts.
                rerun: try fields.optional("rerun") ?? 0,
                timedOut: try fields.optional("timedOut") ?? 0,
                epoch: try fields.optional("epoch")
            )
        case "difference":
            .difference(
                stage: try fields("stage"),
                token: try fields("token"),
                message: try fields("message"),
                epoch: try fields.optional("epoch")
            )
        case "repaired": .repaired(token: try fields("token"), records: try fields("records"))
        case "migrated": .migrated(from: try fields("from"), to: try fields("to"), token: try fields("token"))
        case "rehearsed":
            .rehearsed(
                token: try fields("token"),
                isClean: try fields("isClean"),
                message: try fields.optional("message")
            )
        case "killed": .killed(trigger: try fields("trigger"))
        case "rearmed": .rearmed(by: try fields("by"))
        case "refused": .refused(to: try fields("to"), reasons: try fields("reasons"))
        default: try begun(kind, fields)
        }
    }

    /// The kinds that invalidate earlier proof, those at the end of a rollout, and checkpoints.
    private static func begun(_ kind: String, _ fields: FlatFields) throws -> Self? {
        switch kind {
        case "putBack": .putBack(what: try fields("what"))
        case "adopted":
            .adopted(
                engine: try fields("engine"),
                epoch: try fields("epoch"),
                by: try fields("by"),
                because: try fields("because")
            )
        case "resynced":
            .resynced(
                engine: try fields("engine"),
                epoch: try fields("epoch"),
                token: try fields("token"),
                by: try fields("by"),
                because: try fields("because")
            )
        case "retired":
            .retired(
                engine: try fields("engine"),
                epoch: try fields("epoch"),
                token: try fields("token"),
                by: try fields("by")
            )
        case "restored":
            .restored(
                engine: try fields("engine"),
                epoch: try fields("epoch"),
                token: try fields("token"),
                by: try fields("by"),
                because: try fields("because")
            )
        case "reset":
            .reset(
                because: try fields("because"),
                by: try fields("by"),
                sequence: try fields("sequence"),
                hash: try fields("hash"),
                sizeBytes: try fields("sizeBytes"),
                file: try fields.optional("file")
            )
        case "checkpoint": .checkpoint(try fields("state"))
        default: nil
        }
    }

    /// Writes the flat form.
    public func encode(to encoder: any Encoder) throws {
        try FlatFields.encode(fields, to: encoder)
    }

    private var fields: KeyValuePairs<String, (any Encodable)?> {
        switch self {
        case .stageChanged(let from, let to, let epoch, let token, let reason, let version, let because):
            [
                "kind": "stageChanged", "from": from, "to": to, "epoch": epoch, "token": token, "reason": reason,
                "version": version, "because": because,
            ]
        case .admitted(let stage, let epoch): ["kind": "admitted", "to": stage, "epoch": epoch]
        case .backfilled(let token, let records): ["kind": "backfilled", "token": token, "records": records]
        case .verified(let token, let epoch, let verdict, let coverage, let differences, let anomalies, let ignored):
            [
                "kind": "verified", "token": token, "epoch": epoch, "verdict": verdict, "coverage": coverage,
                "differences": differences, "anomalies": anomalies, "ignoredRules": ignored,
            ]
        case .selfCompared(let side, let token, let isClean):
            ["kind": "selfCompared", "side": side, "token": token, "isClean": isClean]
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
            [
                "kind": "shadowReads", "stage": stage, "clean": clean, "different": different, "skewed": skewed,
                "failed": failed, "shed": shed, "rerun": rerun, "timedOut": timedOut, "epoch": epoch,
            ]
        case .difference(let stage, let token, let message, let epoch):
            ["kind": "difference", "stage": stage, "token": token, "message": message, "epoch": epoch]
        case .repaired(let token, let records): ["kind": "repaired", "token": token, "records": records]
        case .migrated(let from, let to, let token):
            ["kind": "migrated", "from": from, "to": to, "token": token]
        case .rehearsed(let token, let isClean, let message):
            ["kind": "rehearsed", "token": token, "isClean": isClean, "message": message]
        case .killed(let trigger): ["kind": "killed", "trigger": trigger]
        case .rearmed(let person): ["kind": "rearmed", "by": person]
        case .refused(let stage, let reasons): ["kind": "refused", "to": stage, "reasons": reasons]
        case .putBack(let what): ["kind": "putBack", "what": what]
        case .adopted(let engine, let epoch, let person, let reason):
            [
                "kind": "adopted", "engine": engine, "epoch": epoch, "by": person,
                "because": Passwords.redacted(reason),
            ]
        case .resynced(let engine, let epoch, let token, let person, let reason):
            [
                "kind": "resynced", "engine": engine, "epoch": epoch, "token": token, "by": person,
                "because": Passwords.redacted(reason),
            ]
        case .retired(let engine, let epoch, let token, let person):
            ["kind": "retired", "engine": engine, "epoch": epoch, "token": token, "by": person]
        case .restored(let engine, let epoch, let token, let person, let reason):
            [
                "kind": "restored", "engine": engine, "epoch": epoch, "token": token, "by": person,
                "because": Passwords.redacted(reason),
            ]
        case .reset(let reason, let person, let sequence, let hash, let sizeBytes, let file):
            [
                "kind": "reset", "because": Passwords.redacted(reason), "by": person, "sequence": sequence,
                "hash": hash,
                "sizeBytes": sizeBytes, "file": file,
            ]
        case .checkpoint(let state): ["kind": "checkpoint", "state": state]
        case .unknown(let kind): ["kind": kind]
        }
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
