extension GateReason: Codable {
    /// Reads the flat form: the case's name as `reason`, and its values by their names.
    public init(from decoder: any Decoder) throws {
        let fields = try FlatFields(decoder)
        let reason: String = try fields("reason")
        switch reason {
        case "stageSkipped": self = .stageSkipped(from: try fields("from"), to: try fields("to"))
        case "alreadyThere": self = .alreadyThere
        case "notProposed": self = .notProposed(wanted: try fields.optional("wanted"))
        case "notComplete": self = .notComplete(stage: try fields("stage"))
        case "retentionNotOver": self = .retentionNotOver(seconds: try fields("seconds"))
        case "killed": self = .killed
        case "notBackfilled": self = .notBackfilled
        case "mirrorParted": self = .mirrorParted
        case "lagging": self = .lagging(transactions: try fields("transactions"))
        case "verificationMissing": self = .verificationMissing
        case "verificationStale": self = .verificationStale(seconds: try fields("seconds"))
        case "verificationNotClean":
            self = .verificationNotClean(verdict: try fields("verdict"), differences: try fields("differences"))
        case "coverageIncomplete": self = .coverageIncomplete(coverage: try fields("coverage"))
        case "repairedSince": self = .repairedSince
        case "selfComparisonMissing": self = .selfComparisonMissing(side: try fields("side"))
        case "selfComparisonFailed": self = .selfComparisonFailed(side: try fields("side"))
        case "tooFewShadowReads": self = .tooFewShadowReads(have: try fields("have"), need: try fields("need"))
        case "shadowDifferences": self = .shadowDifferences(count: try fields("count"))
        case "rollbackNotRehearsed": self = .rollbackNotRehearsed
        case "rehearsalFailed": self = .rehearsalFailed
        case "evidenceExpired": self = .evidenceExpired
        case "evidenceDamaged": self = .evidenceDamaged(line: try fields("line"), why: try fields("why"))
        case "evidenceUnwritable": self = .evidenceUnwritable
        case "ignoredRules": self = .ignoredRules(count: try fields("count"))
        case "anchorMissing": self = .anchorMissing
        case "anotherUsersEvidence": self = .anotherUsersEvidence
        default:
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "\(reason) is no reason of the gate")
            )
        }
    }

    /// Writes the flat form.
    public func encode(to encoder: any Encoder) throws {
        try FlatFields.encode(fields, to: encoder)
    }

    /// The case's name, whatever its values.
    package var kind: String { fields.first?.value as? String ?? "" }

    private var fields: KeyValuePairs<String, (any Encodable)?> {
        switch self {
        case .stageSkipped(let from, let to): ["reason": "stageSkipped", "from": from, "to": to]
        case .alreadyThere: ["reason": "alreadyThere"]
        case .notProposed(let wanted): ["reason": "notProposed", "wanted": wanted]
        case .notComplete(let stage): ["reason": "notComplete", "stage": stage]
        case .retentionNotOver(let seconds): ["reason": "retentionNotOver", "seconds": seconds]
        case .killed: ["reason": "killed"]
        case .notBackfilled: ["reason": "notBackfilled"]
        case .mirrorParted: ["reason": "mirrorParted"]
        case .lagging(let transactions): ["reason": "lagging", "transactions": transactions]
        case .verificationMissing: ["reason": "verificationMissing"]
        case .verificationStale(let seconds): ["reason": "verificationStale", "seconds": seconds]
        case .verificationNotClean(let verdict, let differences):
            ["reason": "verificationNotClean", "verdict": verdict, "differences": differences]
        case .coverageIncomplete(let coverage): ["reason": "coverageIncomplete", "coverage": coverage]
        case .repairedSince: ["reason": "repairedSince"]
        case .selfComparisonMissing(let side): ["reason": "selfComparisonMissing", "side": side]
        case .selfComparisonFailed(let side): ["reason": "selfComparisonFailed", "side": side]
        case .tooFewShadowReads(let have, let need): ["reason": "tooFewShadowReads", "have": have, "need": need]
        case .shadowDifferences(let count): ["reason": "shadowDifferences", "count": count]
        case .rollbackNotRehearsed: ["reason": "rollbackNotRehearsed"]
        case .rehearsalFailed: ["reason": "rehearsalFailed"]
        case .evidenceExpired: ["reason": "evidenceExpired"]
        case .evidenceDamaged(let line, let why): ["reason": "evidenceDamaged", "line": line, "why": why]
        case .evidenceUnwritable: ["reason": "evidenceUnwritable"]
        case .ignoredRules(let count): ["reason": "ignoredRules", "count": count]
        case .anchorMissing: ["reason": "anchorMissing"]
        case .anotherUsersEvidence: ["reason": "anotherUsersEvidence"]
        }
    }
}
