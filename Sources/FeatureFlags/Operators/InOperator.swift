/// `{"in": [needle, list]}`: whether the list has an element that is strictly equal; `{"in": [needle, text]}`: whether
/// the text contains the other. Anything else contains nothing.
struct InOperator: RuleOperator {
    static let names = ["in"]

    private let needle: Rule
    private let haystack: Haystack

    private enum Haystack {
        /// A list of texts that stands in the file, such as a list of users, which may be long.
        case texts(Set<ByteText>)
        case rule(Rule)
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

    init(_ call: RuleCall) {
        needle = call.arguments.first ?? .literal(.null)
        let second = call.arguments.count > 1 ? call.arguments[1] : .literal(.null)
        haystack = Self.texts(in: second).map { .texts($0) } ?? .rule(second)
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        let needle = try needle.evaluate(&evaluation)
        switch haystack {
        case .texts(let texts):
            guard case .string(let text) = needle else { return false }
            return .bool(texts.contains(ByteText(text: text)))
        case .rule(let rule):
            return .bool(try Self.contains(needle, in: rule.evaluate(&evaluation), &evaluation))
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
