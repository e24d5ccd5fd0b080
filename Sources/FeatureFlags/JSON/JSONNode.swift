/// A JSON value together with the place where it stands in its file.
package struct JSONNode: Sendable {
    package enum Value: Sendable {
        case null
        case bool(Bool)
        case int(Int64)
        case double(Double)
        case string(String)
        case array([JSONNode])
        case object([JSONMember])
    }

    package let value: Value
    /// The range of the value's bytes in ``SourceText/bytes``.
    package let range: Range<Int>
}

/// A member of a JSON object.
package struct JSONMember: Sendable {
    package let key: String
    /// The bytes of the key, quotes included.
    package let keyRange: Range<Int>
    package let value: JSONNode
}

extension JSONNode {
    /// The object's member of this name, or nil.
    package func member(_ key: String) -> JSONMember? {
        guard case .object(let members) = value else { return nil }
        return members.first { $0.key == key }
    }

    /// The same value without its places. The depth of a file is limited, and so is the recursion.
    package var flagValue: FlagValue {
        switch value {
        case .null: .null
        case .bool(let value): .bool(value)
        case .int(let value): .int(value)
        case .double(let value): .double(value)
        case .string(let value): .string(value)
        case .array(let elements): .list(elements.map(\.flagValue))
        case .object(let members):
            .object(
                Dictionary(members.map { ($0.key, $0.value.flagValue) }, uniquingKeysWith: { _, last in last })
            )
        }
    }

    /// How many values there are in it, itself included.
    package var valueCount: Int {
        switch value {
        case .null, .bool, .int, .double, .string: 1
        case .array(let elements): elements.reduce(1) { $0 + $1.valueCount }
        case .object(let members): members.reduce(1) { $0 + $1.value.valueCount }
        }
    }

    /// The first number in the value that cannot be used: one that is too large or too long, or YAML's `.inf` and
    /// `.nan`. It is not finite. The file can be read nevertheless, and what the number stands in is refused.
    package var unusableNumber: JSONNode? {
        switch value {
        case .double(let number): number.isFinite ? nil : self
        case .array(let elements): elements.lazy.compactMap(\.unusableNumber).first
        case .object(let members): members.lazy.compactMap(\.value.unusableNumber).first
        case .null, .bool, .int, .string: nil
        }
    }

    /// The message for such a number.
    package static let unusableNumberMessage =
        "a number must be finite, no larger than 64 bits of floating point hold, and at most "
        + "\(FlagLimits.numberLengthBytes) bytes long"

    /// The type's name, for messages.
    package var typeName: String {
        switch value {
        case .null: "null"
        case .bool: "boolean"
        case .int, .double: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }
}
