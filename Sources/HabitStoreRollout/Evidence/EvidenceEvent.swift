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
