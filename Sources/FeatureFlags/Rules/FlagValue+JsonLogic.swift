/// Truth, equality, order and conversions as jsonlogic.com defines them: JavaScript's, but an empty array is false.
extension FlagValue {
    /// False are null, false, 0, NaN, the empty text and the empty list. `"0"` and `{}` are true.
    package var isTruthy: Bool {
        switch self {
        case .null: false
        case .bool(let value): value
        case .int(let value): value != 0
        case .double(let value): value != 0 && !value.isNaN
        case .string(let value): !value.isEmpty
        case .list(let elements): !elements.isEmpty
        case .object: true
        }
    }

    /// JavaScript's `===`: the same type and the same value. Texts are the same when their bytes are. Two lists or
    /// two objects are never the same: JavaScript compares their identities, and every evaluation makes new ones.
    func isStrictlyEqual(to other: FlagValue) -> Bool {
        switch (self, other) {
        case (.null, .null): return true
        case (.bool(let left), .bool(let right)): return left == right
        case (.string(let left), .string(let right)): return left.hasSameBytes(as: right)
        default:
            guard let left = number, let right = other.number else { return false }
            return left == right
        }
    }

    /// JavaScript's `==`: values of different types are turned into numbers or texts first.
    func isLooselyEqual(to other: FlagValue) -> Bool {
        switch (self, other) {
        case (.null, .null): return true
        case (.null, _), (_, .null): return false
        case (.list, .list), (.list, .object), (.object, .list), (.object, .object): return false
        case (.string(let left), .string(let right)): return left.hasSameBytes(as: right)
        case (.list, .string(let text)), (.object, .string(let text)): return javaScriptText.hasSameBytes(as: text)
        case (.string(let text), .list), (.string(let text), .object):
            return other.javaScriptText.hasSameBytes(as: text)
        default:
            guard let left = convertedNumber, let right = other.convertedNumber else { return false }
            return left == right
        }
    }

    /// JavaScript's `<`, or its `<=`. Texts are compared with texts by their UTF-16 code units; anything else is
    /// turned into a number, and NaN is neither less nor greater than anything.
    func isLess(than other: FlagValue, orEqual: Bool) -> Bool {
        if case .int(let left) = self, case .int(let right) = other { return orEqual ? left <= right : left < right }
        if let left = primitiveText, let right = other.primitiveText {
            return orEqual ? !right.precedesInUTF16(left) : left.precedesInUTF16(right)
        }
        guard let left = convertedNumber, let right = other.convertedNumber else { return false }
        return orEqual ? left <= right : left < right
    }

    /// JavaScript's `String(value)`.
    package var javaScriptText: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): String(value)
        case .double(let value): JavaScriptNumber.double(value).text
        case .string(let value): value
        case .list(let elements): elements.map(\.joinedText).joined(separator: ",")
        case .object: "[object Object]"
        }
    }

    /// What `Array.prototype.join` makes of an element: null is nothing.
    var joinedText: String {
        if case .null = self { return "" }
        return javaScriptText
    }

    /// The number, or nil for a value of another type.
    package var number: JavaScriptNumber? {
        switch self {
        case .int(let value): .int(value)
        case .double(let value): .double(value)
        default: nil
        }
    }

    /// JavaScript's `Number(value)`; nil is NaN.
    package var convertedNumber: JavaScriptNumber? {
        switch self {
        case .null: .int(0)
        case .bool(let value): .int(value ? 1 : 0)
        case .int(let value): .int(value)
        case .double(let value): value.isNaN ? nil : .double(value)
        case .string(let text): JavaScriptNumber(parsing: text)
        case .list: JavaScriptNumber(parsing: javaScriptText)
        case .object: nil
        }
    }

    /// JavaScript's `parseFloat(value)`; nil is NaN. It takes the beginning of a text, and nothing of null or true.
    var parsedNumber: JavaScriptNumber? {
        switch self {
        case .int(let value): .int(value)
        case .double(let value): value.isNaN ? nil : .double(value == 0 ? 0 : value)
        case .string(let text): JavaScriptNumber(parsingPrefixOf: text)
        case .list: JavaScriptNumber(parsingPrefixOf: javaScriptText)
        case .null, .bool, .object: nil
        }
    }

    /// The text of a value that JavaScript compares as a text: its `ToPrimitive` is one.
    private var primitiveText: String? {
        switch self {
        case .string(let text): text
        case .list, .object: javaScriptText
        case .null, .bool, .int, .double: nil
        }
    }
}

extension String {
    /// Whether the UTF-8 bytes are the same. Swift's `==` also takes different Unicode forms of a text for equal, and
    /// flagd does not.
    package func hasSameBytes(as other: String) -> Bool {
        // Texts of the same bytes are always equal, and for most pairs this is the quickest way to say no.
        self == other && utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }

    /// Whether the UTF-16 code units come before those of the other text. UTF-8 has the same order, but for the
    /// characters above U+FFFF, whose surrogates come before U+E000.
    fileprivate func precedesInUTF16(_ other: String) -> Bool {
        var left = utf8.makeIterator()
        var right = other.utf8.makeIterator()
        while true {
            guard let second = right.next() else { return false }
            guard let first = left.next() else { return true }
            if first == second { continue }
            let isSurrogate = (first >= 0xF0, second >= 0xF0)
            if isSurrogate.0 != isSurrogate.1, min(first, second) >= 0xEE { return isSurrogate.0 }
            return first < second
        }
    }
}
