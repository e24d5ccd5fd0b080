extension GateReason: Codable {
    /// Reads the flat form: the case's name as `reason`, and its values by their names.
    public init(from decoder: any Decoder) throws {
        let fields = try FlatFields(decoder)
        let reason: String = try fields("reason")
        guard let caseName = Kind(rawValue: reason) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "\(reason) is not a reason of the gate")
            )
        }
        switch caseName {
        case .stageSkipped: self = .stageSkipped(from: try fields("from"), to: try fields("to"))
        case .alreadyThere: self = .alreadyThere
        case .notProposed: self = .notProposed(wanted: try fields.optional("wanted"))
        case .notTakenBack: self = .notTakenBack(wanted: try fields("wanted"), because: try fields("because"))
        case .notComplete: self = .notComplete(stage: try fields("stage"))
        case .retentionNotOver: self = .retentionNotOver(seconds: try fields("seconds"))
        case .killed: self = .killed
        case .notBackfilled: self = .notBackfilled
        case .mirrorParted: self = .mirrorParted
        case .lagging: self = .lagging(transactions: try fields("transactions"))
        case .verificationMissing: self = .verificationMissing
        case .verificationStale: self = .verificationStale(seconds: try fields("seconds"))
        case .verificationNotClean:
            self = .verificationNotClean(verdict: try fields("verdict"), differences: try fields("differences"))
        case .coverageIncomplete: self = .coverageIncomplete(coverage: try fields("coverage"))
        case .repairedSince: self = .repairedSince
        case .selfComparisonMissing: self = .selfComparisonMissing(side: try fields("side"))
        case .selfComparisonFailed: self = .selfComparisonFailed(side: try fields("side"))
        case .tooFewShadowReads: self = .tooFewShadowReads(have: try fields("have"), need: try fields("need"))
        case .shadowDifferences: self = .shadowDifferences(count: try fields("count"))
        case .rollbackNotRehearsed: self = .rollbackNotRehearsed
        case .rehearsalFailed: self = .rehearsalFailed
        case .evidenceExpired: self = .evidenceExpired
        case .evidenceDamaged: self = .evidenceDamaged(line: try fields("line"), why: try fields("why"))
        case .evidenceUnwritable: self = .evidenceUnwritable
        case .ignoredRules: self = .ignoredRules(count: try fields("count"))
        case .anchorMissing: self = .anchorMissing
        case .anotherUsersEvidence: self = .anotherUsersEvidence
        }
    }

    /// Writes the flat form.
    public func encode(to encoder: any Encoder) throws {
        try FlatFields.encode(["reason": kind], to: encoder)
        try FlatFields.encode(values, to: encoder)
    }

    /// The case's name without its values, as in the evidence, in JSON and in metrics.
    package var kind: String { caseName.rawValue }

    private var values: KeyValuePairs<String, (any Encodable)?> {
        switch self {
        case .stageSkipped(let from, let to): ["from": from, "to": to]
        case .notProposed(let wanted): ["wanted": wanted]
        case .notTakenBack(let wanted, let hold): ["wanted": wanted, "because": hold]
        case .notComplete(let stage): ["stage": stage]
        case .retentionNotOver(let seconds): ["seconds": seconds]
        case .lagging(let transactions): ["transactions": transactions]
        case .verificationStale(let seconds): ["seconds": seconds]
        case .verificationNotClean(let verdict, let differences):
            ["verdict": verdict, "differences": differences]
        case .coverageIncomplete(let coverage): ["coverage": coverage]
        case .selfComparisonMissing(let side): ["side": side]
        case .selfComparisonFailed(let side): ["side": side]
        case .tooFewShadowReads(let have, let need): ["have": have, "need": need]
        case .shadowDifferences(let count): ["count": count]
        case .evidenceDamaged(let line, let why): ["line": line, "why": why]
        case .ignoredRules(let count): ["count": count]
        case .alreadyThere, .killed, .notBackfilled, .mirrorParted, .verificationMissing, .repairedSince,
            .rollbackNotRehearsed, .rehearsalFailed, .evidenceExpired, .evidenceUnwritable, .anchorMissing,
            .anotherUsersEvidence:
            [:]
        }
    }
}
