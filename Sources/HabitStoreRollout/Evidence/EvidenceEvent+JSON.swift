import HabitStore

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
