import HabitStore

/// Something that happened on a user's way, and that the gate judges by. None of it holds a user's values.
///
/// The JSON form is one flat object: the case's name as `kind`, and the case's values by their names; what is nil is left
/// out. Stages, sides and reasons are their names, tokens are numbers:
///
/// ```json
/// {"epoch":3,"from":"shadow","kind":"stageChanged","reason":"promoted","to":"live","token":4711}
/// {"clean":250,"different":0,"failed":0,"kind":"shadowReads","rerun":3,"shed":2,"skewed":1,"stage":"shadow","timedOut":0}
/// ```
public enum EvidenceEvent: Sendable, Hashable {
    /// The user came into another stage, at a token; `epoch` is the one that began with it.
    case stageChanged(from: Stage, to: Stage, epoch: Int, token: HistoryToken, reason: StageChangeReason)
    /// The mirror was filled from a snapshot at a token.
    case backfilled(token: HistoryToken, records: Int)
    /// Both stores were compared as wholes. `verdict` is the verifier's word (`match`, `mismatch`, `skewed`, `ignored`,
    /// `error`, `timedOut`), `coverage` the part of the records that was compared, 0…1, `differences` the number of those
    /// that no rule ignores, and `ignoredRules` the number of rules that ignored something.
    case verified(
        token: HistoryToken,
        epoch: Int,
        verdict: String,
        coverage: Double,
        differences: Int,
        anomalies: Int,
        ignoredRules: Int
    )
    /// A store was compared with itself (A/A).
    case selfCompared(side: StoreSide, token: HistoryToken, isClean: Bool)
    /// Shadow reads since the previous event of this kind, by their outcome: see ``ShadowVerdict``, whose `match` is `clean`
    /// here, `mismatch` is `different`, and `error` is `failed`.
    case shadowReads(
        stage: Stage,
        clean: Int,
        different: Int,
        skewed: Int,
        failed: Int,
        shed: Int,
        rerun: Int = 0,
        timedOut: Int = 0
    )
    /// The stores answered differently; `message` says how, without a user's values.
    case difference(stage: Stage, token: HistoryToken, message: String)
    /// Records of the mirror were put right.
    case repaired(token: HistoryToken, records: Int)
    /// Both stores were taken to another version of the schema, and have come to a token with it.
    case migrated(from: Schema.Version, to: Schema.Version, token: HistoryToken)
    /// The way back was executed on copies; `message` says what went wrong.
    case rehearsed(token: HistoryToken, isClean: Bool, message: String?)
    /// The kill switch was pulled.
    case killed(trigger: String)
    /// The kill switch was armed again by somebody.
    case rearmed(by: String)
    /// The gate refused a stage.
    case refused(to: Stage, reasons: [GateReason])
    /// An event that this version does not know, or whose values it cannot read: a newer one wrote it.
    case unknown(kind: String)
}
