/// The operators that look at texts.
enum TextOperators {
    /// `{"cat": […]}`: the texts of all values in one text. Null is nothing, and a list is its texts with commas.
    static func concatenation(
        _ arguments: [Rule],
        _ evaluation: inout Evaluation
    ) throws(EvaluationFault) -> FlagValue {
        var text = ""
        for argument in arguments { text += try argument.readValue(&evaluation).joinedText }
        return .string(text)
    }

    /// `{"substr": [text, start, length]}`: a part of the text, counted in UTF-16 code units as in JavaScript. A negative
    /// start counts from the end; a negative length leaves off so many at the end; no length takes all.
    static func part(_ arguments: [Rule], _ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        // JavaScript's text of a missing argument is "undefined".
        guard let first = arguments.first else { return "undefined" }
        let source = try first.readValue(&evaluation)
        let start = try index(1, arguments, &evaluation) ?? 0
        let length = try index(2, arguments, &evaluation)
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

    private static func index(
        _ position: Int,
        _ arguments: [Rule],
        _ evaluation: inout Evaluation
    ) throws(EvaluationFault) -> Int? {
        guard position < arguments.count else { return nil }
        return (try arguments[position].readValue(&evaluation).convertedNumber ?? .int(0)).index
    }

    /// `{"starts_with": [text, prefix]}`, `{"ends_with": [text, suffix]}`: whether the text's bytes begin or end with the
    /// other's. Anything but two texts gives null.
    static func hasAffix(isPrefix: Bool) -> RuleOperator.Body {
        { (arguments, evaluation) throws(EvaluationFault) in
            guard arguments.count == 2,
                case .string(let text) = try arguments[0].evaluate(&evaluation),
                case .string(let affix) = try arguments[1].evaluate(&evaluation)
            else { return .null }
            let difference = text.utf8.count - affix.utf8.count
            guard difference >= 0 else { return false }
            try evaluation.spend(affix.utf8.count / 64)
            if isPrefix { return .bool(text.utf8.starts(with: affix.utf8)) }
            return .bool(text.utf8.dropFirst(difference).elementsEqual(affix.utf8))
        }
    }

    /// `{"in": [needle, list]}`: whether the list has an element that is strictly equal; `{"in": [needle, text]}`: whether
    /// the text contains the other. Anything else contains nothing.
    static func containment(_ call: RuleCall) -> RuleOperator.Body {
        // A list of texts that stands in the file, such as a list of users, may be long.
        if call.arguments.count > 1, let texts = texts(in: call.arguments[1]) {
            return { (arguments, evaluation) throws(EvaluationFault) in
                guard case .string(let text) = try arguments[0].evaluate(&evaluation) else { return false }
                return .bool(texts.contains(ByteText(text: text)))
            }
        }
        return { (arguments, evaluation) throws(EvaluationFault) in
            let needle = try arguments.value(at: 0, &evaluation)
            return .bool(try contains(needle, in: arguments.value(at: 1, &evaluation), &evaluation))
        }
    }

    /// A text that is compared by its bytes.
    private struct ByteText: Hashable {
        let text: String

        static func == (left: ByteText, right: ByteText) -> Bool { left.text.hasSameBytes(as: right.text) }

        func hash(into hasher: inout Hasher) {
            let isContiguous: Void? = text.utf8.withContiguousStorageIfAvailable {
                hasher.combine(bytes: UnsafeRawBufferPointer($0))
            }
            if isContiguous == nil {
                for byte in text.utf8 { hasher.combine(byte) }
            }
        }
    }

    private static func texts(in rule: Rule) -> Set<ByteText>? {
        guard case .literal(.list(let elements)) = rule else { return nil }
        var texts: Set<ByteText> = []
        for element in elements {
            guard case .string(let text) = element else { return nil }
            texts.insert(ByteText(text: text))
        }
        return texts
    }

    private static func contains(
        _ needle: FlagValue,
        in haystack: FlagValue,
        _ evaluation: inout Evaluation
    ) throws(EvaluationFault) -> Bool {
        switch haystack {
        case .list(let elements):
            try evaluation.spend(elements.count)
            return elements.contains { $0.isStrictlyEqual(to: needle) }
        case .string(let text):
            // JavaScript finds nothing in the empty text, and turns what it looks for into a text.
            guard !text.isEmpty else { return false }
            try evaluation.spend(onReading: needle)
            let part = needle.javaScriptText
            // The search may compare the part at every byte.
            try evaluation.spend(text.utf8.count / 64 * (1 + part.utf8.count / 64))
            return contains(part, in: text)
        case .null, .bool, .int, .double, .object:
            return false
        }
    }

    /// Whether the text has the bytes of `part` in it. UTF-8 makes a match of bytes a match of whole scalars.
    private static func contains(_ part: String, in text: String) -> Bool {
        var part = part
        var text = text
        return text.withUTF8 { bytes in
            part.withUTF8 { part in
                guard let first = part.first else { return true }
                guard part.count <= bytes.count else { return false }
                for start in 0...(bytes.count - part.count) where bytes[start] == first {
                    if bytes[start...].starts(with: part) { return true }
                }
                return false
            }
        }
    }
}
