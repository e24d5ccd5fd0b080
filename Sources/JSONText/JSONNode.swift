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
    /// The range of the value's bytes in its document.
    package let range: Range<Int>

    package init(value: Value, range: Range<Int>) { (self.value, self.range) = (value, range) }
}

/// A member of a JSON object.
package struct JSONMember: Sendable {
    package let key: String
    /// The bytes of the key, quotes included.
    package let keyRange: Range<Int>
    package let value: JSONNode

    package init(key: String, keyRange: Range<Int>, value: JSONNode) {
        (self.key, self.keyRange, self.value) = (key, keyRange, value)
    }
}

extension JSONNode {
    /// The object's member of this name, or nil.
    package func member(_ key: String) -> JSONMember? {
        guard case .object(let members) = value else { return nil }
        return members.first { $0.key == key }
    }

    /// How many values there are in it, itself included.
    package var valueCount: Int {
        switch value {
        case .null, .bool, .int, .double, .string: 1
        case .array(let elements): elements.reduce(1) { $0 + $1.valueCount }
        case .object(let members): members.reduce(1) { $0 + $1.value.valueCount }
        }
    }

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

/// An array or object whose end the parser has not met yet.
struct JSONContainer {
    let kind: JSONFailure.Container
    let start: Int
    private var elements: [JSONNode] = []
    private var members: [JSONMember] = []
    /// Where each key stands in `members`; kept only once a search by walking would be slow.
    private var indexByKey: [String: Int] = [:]
    /// The key whose value comes next.
    var pendingKey: (key: String, range: Range<Int>)?

    private static let walkedMembers = 8

    init(_ kind: JSONFailure.Container, start: Int) {
        self.kind = kind
        self.start = start
    }

    /// Adds an element, or the value of the pending key. Returns the key's place if the object had that key already:
    /// the new value has then replaced the old one.
    mutating func append(_ node: JSONNode) -> (key: String, range: Range<Int>)? {
        guard let pending = pendingKey else {
            elements.append(node)
            return nil
        }
        pendingKey = nil
        let member = JSONMember(key: pending.key, keyRange: pending.range, value: node)
        if let index = index(of: pending.key) {
            members[index] = member
            return pending
        }
        if members.count >= Self.walkedMembers {
            if indexByKey.isEmpty {
                for (index, member) in members.enumerated() { indexByKey[member.key] = index }
            }
            indexByKey[pending.key] = members.count
        }
        members.append(member)
        return nil
    }

    func closed(end: Int) -> JSONNode {
        switch kind {
        case .array: JSONNode(value: .array(elements), range: start..<end)
        case .object: JSONNode(value: .object(members), range: start..<end)
        }
    }

    private func index(of key: String) -> Int? {
        indexByKey.isEmpty ? members.firstIndex { $0.key == key } : indexByKey[key]
    }
}

/// Well-formedness of UTF-8 as table 3-7 of the Unicode Standard has it: no overlong forms, no surrogates, nothing
/// above U+10FFFF.
package enum UTF8Validation {
    /// The offset of the first byte that does not belong to a well-formed sequence, or nil where all do.
    package static func firstInvalidOffset(in bytes: [UInt8], from start: Int = 0) -> Int? {
        var index = start
        while index < bytes.count {
            let first = bytes[index]
            if first < 0x80 {
                index += 1
                continue
            }
            guard let form = sequenceForm(first), index + form.length <= bytes.count else { return index }
            guard form.second.contains(bytes[index + 1]) else { return index }
            for offset in 2..<max(2, form.length) where bytes[index + offset] & 0xC0 != 0x80 { return index }
            index += form.length
        }
        return nil
    }

    /// How long the sequence is and which second bytes are allowed, or nil for a byte that can start none.
    private static func sequenceForm(_ first: UInt8) -> (length: Int, second: ClosedRange<UInt8>)? {
        switch first {
        case 0xC2...0xDF: (2, 0x80...0xBF)
        case 0xE0: (3, 0xA0...0xBF)
        case 0xED: (3, 0x80...0x9F)
        case 0xE1...0xEF: (3, 0x80...0xBF)
        case 0xF0: (4, 0x90...0xBF)
        case 0xF1...0xF3: (4, 0x80...0xBF)
        case 0xF4: (4, 0x80...0x8F)
        default: nil
        }
    }
}
