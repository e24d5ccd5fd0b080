/// `{"substr": [text, start, length]}`: a part of the text, counted in UTF-16 code units as in JavaScript. A negative
/// start counts from the end; a negative length leaves off so many at the end; no length takes all.
struct SubstringOperator: RuleOperator {
    static let names = ["substr"]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        // JavaScript's text of a missing argument is "undefined".
        guard !arguments.isEmpty else { return "undefined" }
        let source = try arguments[0].evaluate(&evaluation)
        try evaluation.spend(onReading: source)
        let start = try index(1, &evaluation) ?? 0
        let length = try index(2, &evaluation)
        let units = Array(source.javaScriptText.utf16)
        try evaluation.spend(units.count / 16)
        let lower = start < 0 ? max(0, units.count + max(start, -units.count)) : min(start, units.count)
        var upper = units.count
        if let length {
            let available = units.count - lower
            upper = lower + (length < 0 ? max(0, available + max(length, -available)) : min(length, available))
        }
        return .string(String(decoding: units[lower..<upper], as: UTF16.self))
    }

    private func index(_ position: Int, _ evaluation: inout Evaluation) throws(EvaluationFault) -> Int? {
        guard position < arguments.count else { return nil }
        let value = try arguments[position].evaluate(&evaluation)
        try evaluation.spend(onReading: value)
        return (value.convertedNumber ?? .int(0)).index
    }
}
