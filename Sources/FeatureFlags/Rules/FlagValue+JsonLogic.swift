/// Truth and equality as jsonlogic.com defines them: JavaScript's, but an empty array is false.
extension FlagValue {
    /// False are null, false, 0, NaN, the empty text and the empty list. `"0"` and `{}` are true.
    var isTruthy: Bool {
        switch self {
        case .null: false
        case .bool(let value): value
        case .int(let value): value != 0
        case .double(let value): !JavaScriptNumber.double(value).isZeroOrNaN
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

    /// JavaScript's `String(value)`.
    var javaScriptText: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): String(value)
        case .double(let value): JavaScriptNumber.double(value).text
        case .string(let value): value
        case .list(let elements): elements.map { $0 == .null ? "" : $0.javaScriptText }.joined(separator: ",")
        case .object: "[object Object]"
        }
    }

    /// The number, or nil for a value of another type.
    var number: JavaScriptNumber? {
        switch self {
        case .int(let value): .int(value)
        case .double(let value): .double(value)
        default: nil
        }
    }

    /// JavaScript's `Number(value)`; nil is NaN.
    private var convertedNumber: JavaScriptNumber? {
        switch self {
        case .null: .int(0)
        case .bool(let value): .int(value ? 1 : 0)
        case .int, .double: number
        case .string(let text): JavaScriptNumber(parsing: text)
        case .list, .object: JavaScriptNumber(parsing: javaScriptText)
        }
    }
}

extension String {
    /// Whether the UTF-8 bytes are the same. Swift's `==` also takes different Unicode forms of a text for equal, and
    /// flagd does not.
    func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
