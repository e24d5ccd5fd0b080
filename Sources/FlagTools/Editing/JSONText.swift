import FeatureFlags

/// Writes and parses small pieces of JSON.
enum JSONText {
    /// A quoted string.
    static func string(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// The value of a JSON text.
    static func value(_ text: String) throws(FlagError) -> FlagValue {
        var warnings = FlagWarningList()
        let source = try SourceText(bytes: Array(text.utf8), name: "value")
        let node = try JSONParser.parse(source, warnings: &warnings)
        if let number = node.unusableNumber {
            throw FlagError(
                .parseError,
                JSONNode.unusableNumberMessage,
                at: source.location(at: number.range.lowerBound)
            )
        }
        return node.flagValue
    }
}
