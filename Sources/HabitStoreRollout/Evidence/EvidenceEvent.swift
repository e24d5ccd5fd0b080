import HabitStore

/// Something that happened on a user's way, and that the gate judges by. None of it holds a user's values.
///
/// The JSON form is one flat object: the case's name as `kind`, and the case's values by their names; what is nil is left
/// out. Stages, sides and reasons are their names, tokens are numbers. Only a checkpoint has an object in it, `state`:
///
/// ```json
/// {"epoch":3,"from":"shadow","kind":"stageChanged","reason":"promoted","to":"live","token":4711,"version":2}
/// {"clean":250,"different":0,"epoch":3,"failed":0,"kind":"shadowReads","rerun":3,"shed":2,"skewed":1,"stage":"shadow","timedOut":0}
/// ```
public enum EvidenceEvent: Sendable, Hashable {
    /// The user came into another stage, at a token; `epoch` is the one that began with it. `version` is the form of the
    /// lines that this stay's processes write: nil for one that an earlier version began, whose shadow reads have no epoch. `because` is what
    /// the person has said who moved the user.
    case stageChanged(
        from: Stage,
        to: Stage,
        epoch: Int,
        token: HistoryToken,
        reason: StageChangeReason,
        version: Int? = currentVersion,
        because: String? = nil
    )
    /// The gate let the user in, who was at `epoch` then. It is written before the move.
    case admitted(to: Stage, epoch: Int)
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
    /// here, `mismatch` is `different`, and `error` is `failed`. `epoch` is the one that they were made in; nil in lines of
    /// earlier versions.
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
    /// The stores answered differently; `message` says how, without a user's values. `epoch` is the one that it was found
    /// in; nil in lines of earlier versions.
    case difference(stage: Stage, token: HistoryToken, message: String, epoch: Int? = nil)
    /// Records of the mirror were put right.
    case repaired(token: HistoryToken, records: Int)
    /// The following store is about to be rebuilt from the serving one, in `epoch`; the copy and a verification follow.
    case resynced(engine: EngineName, epoch: Int, token: HistoryToken, by: String, because: String)
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
    /// The user's folder, or the part of it that `what` names, was put back from a copy or moved: what was proven before was
    /// proven of other files.
    case putBack(what: String)
    /// Somebody accepted a store that is older than what was acknowledged, from `epoch` on: what was proven before was proven
    /// of other records.
    case adopted(engine: EngineName, epoch: Int, by: String, because: String)
    /// The store that the user had left was removed, or is being: a verification of this epoch found it equal to what serves, once it
    /// was brought to the token of that.
    case retired(engine: EngineName, epoch: Int, token: HistoryToken, by: String)
    /// A backup of the user was accepted as current by somebody, from `epoch` on: what was written after `token` is given up, and what was
    /// proven before was proven of other records.
    case restored(engine: EngineName, epoch: Int, token: HistoryToken, by: String, because: String)
    /// Somebody began the evidence anew. It is the first line of its chain, and says what was there: the last record's
    /// number and hash, the size of the file, and the name under which it is kept; nil when there was none.
    case reset(because: String, by: String, sequence: Int, hash: String, sizeBytes: Int, file: String?)
    /// What the records before it come to.
    case checkpoint(EvidenceCheckpoint)
    /// An event that this version does not know, or whose values it cannot read: a newer one wrote it.
    case unknown(kind: String)

    /// The form of the lines that this version writes: shadow reads have an epoch from 2 on.
    public static let currentVersion = 2
}
