import FeatureFlags

/// The outcome of an evaluation, for output.
struct FlagOutcome {
    let flag: String
    /// Nil if the caller's default applies.
    let value: FlagValue?
    let variant: String?
    let reason: Reason
    let errorCode: FlagError.Code?
    let errorMessage: String?
    let metadata: [String: FlagValue]

    init(flag: String, _ resolution: Resolution) {
        self.flag = flag
        value = resolution.value
        variant = resolution.variant
        reason = resolution.reason
        errorCode = resolution.errorCode
        errorMessage = resolution.errorMessage
        metadata = resolution.flagMetadata
    }

    /// The outcome as members of a JSON object.
    var json: [String: JSON] {
        [
            "flag": .string(flag),
            "value": value?.json ?? .null,
            "variant": .optional(variant),
            "reason": .string(reason.rawValue),
            "errorCode": .optional(errorCode?.rawValue),
            "errorMessage": .optional(errorMessage),
            "metadata": .object(metadata.mapValues(\.json)),
        ]
    }

    /// The outcome as one row in a table of several.
    var summary: [String] {
        let why = errorCode.map { "\(reason.rawValue): \($0.rawValue)" } ?? reason.rawValue
        return [flag, value?.text ?? "the caller's default", variant ?? "none", why]
    }

    /// The outcome as rows of a table.
    var rows: [[String]] {
        var rows = [
            ["flag", flag],
            ["value", value?.text ?? "the caller's default"],
            ["variant", variant ?? "none"],
            ["reason", reason.rawValue],
        ]
        if let errorCode { rows.append(["error", "\(errorCode.rawValue): \(errorMessage ?? "")"]) }
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) { rows.append(["metadata \(name)", value.text]) }
        return rows
    }
}
