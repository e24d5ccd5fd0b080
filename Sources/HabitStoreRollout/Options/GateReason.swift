import HabitStore

/// A reason that keeps the gate closed.
public enum GateReason: Sendable, Hashable {
    /// There are stages between the two.
    case stageSkipped(from: Stage, to: Stage)
    /// The user is already in this stage.
    case alreadyThere
    /// The flags want at most this stage, or none.
    case notProposed(wanted: Stage?)
    /// The flags want this earlier stage, but the user is not taken there. Concerns the flags, not the evidence, and is never logged there.
    case notTakenBack(wanted: Stage, because: Hold)
    /// The user is in this stage; the former store is removed only at `complete`.
    case notComplete(stage: Stage)
    /// The user reached `complete` too recently, or at an unknown time; this much of the retention is left.
    case retentionNotOver(seconds: Double)
    /// The kill switch is pulled.
    case killed
    /// The mirror was never filled.
    case notBackfilled
    /// The mirror has diverged from the serving store.
    case mirrorParted
    /// The mirror lags by this many transactions.
    case lagging(transactions: Int)
    /// No verification was made in this stage.
    case verificationMissing
    /// The verification is this old; negative if it is dated in the future.
    case verificationStale(seconds: Double)
    /// The last verification did not match.
    case verificationNotClean(verdict: String, differences: Int)
    /// The verification compared only this share of the records, 0…1.
    case coverageIncomplete(coverage: Double)
    /// The mirror was repaired after the verification.
    case repairedSince
    /// There is no recent comparison of a store with itself.
    case selfComparisonMissing(side: StoreSide)
    /// The last comparison of a store with itself found a difference: the comparison is at fault, or the store's copies are.
    case selfComparisonFailed(side: StoreSide)
    /// Not enough clean shadow reads in this stage since the last difference, repair or change of stage.
    case tooFewShadowReads(have: Int, need: Int)
    /// Differences in this stage without a later verification.
    case shadowDifferences(count: Int)
    /// The way back was not rehearsed recently.
    case rollbackNotRehearsed
    /// The last rehearsal of the way back failed.
    case rehearsalFailed
    /// There were enough clean shadow reads, but too many are too old, or dated in the future.
    case evidenceExpired
    /// The evidence is damaged or was changed.
    case evidenceDamaged(line: Int, why: String)
    /// The evidence cannot be written, so nothing can be proven: neither a promotion's own line nor earlier findings.
    case evidenceUnwritable
    /// The verification ignored differences by this many rules.
    case ignoredRules(count: Int)
    /// The evidence ends before the stores' anchor, or is another log.
    case anchorMissing
    /// The stores have no anchor although the evidence shows an admission by the gate: it is another user's, or the stores are older.
    case anotherUsersEvidence

    /// What keeps a user at a later stage than the flags want.
    public enum Hold: String, Sendable, Hashable, Codable, CaseIterable {
        /// A percentage placed the user and now wants an earlier stage, but changed weights or buckets move no user back.
        case percentage
        /// A percentage wants an earlier stage, and an earlier version did not record what placed the user.
        case unknownPlacement
        /// The stage alone moves no user back from `complete`, where the old store does not follow.
        case complete
        /// Flag files disagree: another one put the user there since this one did.
        case disagreement
        /// Nothing in the flags: the next operation takes the user back.
        case pending
    }
}

extension GateReason: CustomStringConvertible {
    /// One sentence: what is missing, and how to provide it.
    public var description: String { sentence(user: "U") }

    /// The same, with the user in its commands.
    ///
    /// - Parameter user: the user's id, as typed into a shell.
    package func sentence(user: String) -> String {
        switch self {
        case .stageSkipped(let from, let to):
            "\(to) cannot follow \(from): go one stage at a time with `\(OperatorCommand.name) rollout advance --user \(user)`"
        case .alreadyThere: "the user is in this stage already"
        case .notProposed(let wanted):
            (wanted.map { "the flags want \($0) for this user and nothing further" }
                ?? "the flags propose no stage for this user")
                + ": change the flag file first, with `\(OperatorCommand.name) flags set habit-store-stage --variant STAGE`"
        case .notTakenBack(let wanted, let hold):
            "the flags want \(wanted) for this user, " + hold.sentence(wanted, user)
        case .notComplete(let stage):
            "the user is at \(stage), and the old store is removed only at complete: "
                + "`\(OperatorCommand.name) rollout advance --user \(user)` takes the user there"
        case .retentionNotOver(let seconds):
            "the old store is kept for \(Self.hours(seconds)) more: run `\(OperatorCommand.name) rollout retire --user \(user)` then, or ask for less "
                + "with retentionSeconds in the policy"
        case .killed:
            "the kill switch is pulled: arm it again with `\(OperatorCommand.name) rollout rearm --user \(user)`, or with --all for everybody"
        case .notBackfilled:
            "the mirror is not filled yet: `\(OperatorCommand.name) rollout advance --user \(user)` fills it"
        case .mirrorParted:
            "the mirror has diverged from the serving store and cannot follow it: "
                + "`\(OperatorCommand.name) rollout doctor --user \(user) --fix` sets its file aside, and a new one is copied"
        case .lagging(let transactions):
            "the mirror is \(Self.count(transactions, "transaction")) behind: "
                + "`\(OperatorCommand.name) rollout advance --user \(user)` catches it up"
        case .verificationMissing: "the stores were not verified in this stage: \(Self.verify(user))"
        case .verificationStale(let seconds):
            seconds < 0
                ? "the verification is dated \(Self.hours(-seconds)) in the future: \(Self.verify(user))"
                : "the verification is \(Self.hours(seconds)) old, which is too long: \(Self.verify(user))"
        case .verificationNotClean(let verdict, let differences):
            "the last verification ended with \(verdict) and \(Self.count(differences, "difference")): "
                + "resolve what it found, then \(Self.verify(user))"
        case .coverageIncomplete(let coverage):
            "the verification covered \(Self.percent(coverage)) of the records, and 100 % are needed: \(Self.verify(user))"
        case .repairedSince: "the mirror was repaired after the verification: \(Self.verify(user))"
        case .selfComparisonMissing(let side):
            "the \(side.rawValue) store was not compared with itself lately: \(Self.verify(user))"
        case .selfComparisonFailed(let side):
            "the \(side.rawValue) store differs from itself, so no comparison can be trusted: "
                + "run `\(OperatorCommand.name) check STORE` on it, then \(Self.verify(user))"
        case .tooFewShadowReads(let have, let need):
            "\(have) of \(need) clean shadow reads were made in this stage since the last difference or repair: "
                + "wait for the user's reads, then run `\(OperatorCommand.name) rollout advance --user \(user)` again"
        case .shadowDifferences(let count):
            "\(Self.count(count, "difference")) between the stores came up in this stage, with no clean verification "
                + "since: \(Self.verify(user))"
        case .rollbackNotRehearsed: "the way back was not rehearsed lately: \(Self.rehearse(user))"
        case .rehearsalFailed:
            "the last rehearsal of the way back failed: resolve what it found, then \(Self.rehearse(user))"
        case .evidenceExpired:
            "too many of the clean shadow reads are too old, or dated in the future: wait for the user's next reads"
        case .evidenceDamaged(let line, let why):
            "the evidence is damaged in line \(line) (\(why)) and no longer proves anything: \(Self.reset(user))"
        case .evidenceUnwritable:
            "the evidence cannot be written, and what cannot be recorded is not proven: check the permissions and "
                + "space of the user's evidence.jsonl, then run `\(OperatorCommand.name) rollout advance --user "
                + "\(user)` again"
        case .ignoredRules(let count):
            "the verification ignored something by \(Self.count(count, "rule")): remove the rules, then \(Self.verify(user))"
        case .anchorMissing:
            "the evidence lacks what the stores remember of it, so lines are missing at its end: \(Self.reset(user))"
        case .anotherUsersEvidence:
            "the stores have never been moved, but the evidence says otherwise: it is another user's, or the stores are older "
                + "than it: \(Self.reset(user))"
        }
    }

    private static func verify(_ user: String) -> String {
        "run `\(OperatorCommand.name) rollout verify --user \(user)`"
    }

    private static func reset(_ user: String) -> String {
        "`\(OperatorCommand.name) rollout evidence --user \(user)` shows it, and `\(OperatorCommand.name) rollout evidence reset --user \(user) --because TEXT` "
            + "restarts it"
    }

    private static func rehearse(_ user: String) -> String {
        "run `\(OperatorCommand.name) rollout rehearse --user \(user)`"
    }

    private static func count(_ number: Int, _ noun: String) -> String { number.counted(noun) }

    /// Rounds down, so that only the whole is 100 %.
    private static func percent(_ part: Double) -> String { "\((part * 10_000).rounded(.down) / 100) %" }

    private static func hours(_ seconds: Double) -> String { "\((seconds / 360).rounded() / 10) h" }
}

extension GateReason.Hold {
    /// The rest of a sentence that begins with what the flags want.
    fileprivate func sentence(_ wanted: Stage, _ user: String) -> String {
        let demote = "`\(OperatorCommand.name) rollout demote --user \(user) --to \(wanted)` does"
        return switch self {
        case .percentage: "by a percentage, which takes no user back whom a percentage placed: \(demote)"
        case .unknownPlacement:
            "by a percentage, and an earlier version did not write down whether a rule or a percentage placed the user, so nothing takes the "
                + "user back: \(demote)"
        case .complete: "and a stage alone takes no user back from complete: \(demote), and so does habit-store-backend"
        case .disagreement:
            "and another flag file has put the user here since this one did: edit this one again, or \(demote)"
        case .pending:
            "and the next operation takes the user there; if one has failed, its note says why, and \(demote) the same"
        }
    }
}

extension GateReason {
    /// The reasons' names, without their values. A new reason needs a name here, and a row in ``Runbook/reasons``.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case stageSkipped, alreadyThere, notProposed, notTakenBack, notComplete, retentionNotOver, killed,
            notBackfilled,
            mirrorParted, lagging, verificationMissing, verificationStale, verificationNotClean, coverageIncomplete,
            repairedSince, selfComparisonMissing, selfComparisonFailed, tooFewShadowReads, shadowDifferences,
            rollbackNotRehearsed, rehearsalFailed, evidenceExpired, evidenceDamaged, evidenceUnwritable, ignoredRules,
            anchorMissing, anotherUsersEvidence
    }

    /// The case's name, without its values.
    package var caseName: Kind { parts.kind }

    /// The same as in the evidence, in JSON and in metrics.
    package var kind: String { caseName.rawValue }

    /// The case's name, and its values in the order of its row in ``Runbook/reasons``.
    private var parts: (kind: Kind, values: [(any Encodable)?]) {
        switch self {
        case .stageSkipped(let from, let to): (.stageSkipped, [from, to])
        case .alreadyThere: (.alreadyThere, [])
        case .notProposed(let wanted): (.notProposed, [wanted])
        case .notTakenBack(let wanted, let hold): (.notTakenBack, [wanted, hold])
        case .notComplete(let stage): (.notComplete, [stage])
        case .retentionNotOver(let seconds): (.retentionNotOver, [seconds])
        case .killed: (.killed, [])
        case .notBackfilled: (.notBackfilled, [])
        case .mirrorParted: (.mirrorParted, [])
        case .lagging(let transactions): (.lagging, [transactions])
        case .verificationMissing: (.verificationMissing, [])
        case .verificationStale(let seconds): (.verificationStale, [seconds])
        case .verificationNotClean(let verdict, let differences): (.verificationNotClean, [verdict, differences])
        case .coverageIncomplete(let coverage): (.coverageIncomplete, [coverage])
        case .repairedSince: (.repairedSince, [])
        case .selfComparisonMissing(let side): (.selfComparisonMissing, [side])
        case .selfComparisonFailed(let side): (.selfComparisonFailed, [side])
        case .tooFewShadowReads(let have, let need): (.tooFewShadowReads, [have, need])
        case .shadowDifferences(let count): (.shadowDifferences, [count])
        case .rollbackNotRehearsed: (.rollbackNotRehearsed, [])
        case .rehearsalFailed: (.rehearsalFailed, [])
        case .evidenceExpired: (.evidenceExpired, [])
        case .evidenceDamaged(let line, let why): (.evidenceDamaged, [line, why])
        case .evidenceUnwritable: (.evidenceUnwritable, [])
        case .ignoredRules(let count): (.ignoredRules, [count])
        case .anchorMissing: (.anchorMissing, [])
        case .anotherUsersEvidence: (.anotherUsersEvidence, [])
        }
    }
}

extension GateReason: Codable {
    /// Reads the flat form: the case's name as `reason`, and its values by their names.
    public init(from decoder: any Decoder) throws {
        let fields = try FlatFields(decoder)
        let reason: String = try fields("reason")
        guard let form = Kind(rawValue: reason).flatMap({ Self.forms[$0] }) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "\(reason) is not a reason of the gate")
            )
        }
        self = try form.read(fields)
    }

    /// Writes the flat form.
    public func encode(to encoder: any Encoder) throws {
        let (kind, values) = parts
        try FlatFields.encode([("reason", kind.rawValue)], to: encoder)
        try Self.forms[kind]?.encode(values, to: encoder)
    }

    private static let forms = Dictionary(
        uniqueKeysWithValues: Runbook.reasons.compactMap { kind, row in row.json.map { (kind, $0) } }
    )
}

/// The gate's decision on a change of stage.
public struct GateDecision: Sendable, Hashable, Codable {
    /// Everything that keeps the gate closed; empty if it is open.
    public let reasons: [GateReason]
    /// The clean shadow reads that count in the user's present stage.
    public let cleanShadowReads: Int
    /// The rate of different reads is below this with 95 % confidence: 3 / ``cleanShadowReads``, by the rule of three
    /// (Hanley and Lippman-Hand, JAMA 249, 1983), and 1 at most. nil without clean reads.
    public let upperBound: Double?

    /// Whether the change may be made.
    public var isOpen: Bool { reasons.isEmpty }

    init(reasons: [GateReason], cleanShadowReads: Int) {
        self.reasons = reasons
        self.cleanShadowReads = cleanShadowReads
        upperBound = cleanShadowReads > 0 ? min(1, 3 / Double(cleanShadowReads)) : nil
    }
}

extension GateDecision {
    /// The decision, limited by what the flags propose: no user moves past that, whatever the evidence allows. The next operation would take such a
    /// user back.
    func proposed(_ wanted: Stage?, from stage: Stage, to target: Stage) -> GateDecision {
        guard target > stage, wanted.map({ $0 < target }) ?? true else { return self }
        return GateDecision(reasons: reasons + [.notProposed(wanted: wanted)], cleanShadowReads: cleanShadowReads)
    }
}
