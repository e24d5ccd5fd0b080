import Foundation
import Hashing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// One attribute's value as the stores keep it, without its Swift type.
///
/// Text is in Unicode NFC, doubles are finite and never `-0.0`: ``normalized()`` and every writer see to that.
public enum Value: Sendable, Hashable {
    /// The absent value of an optional attribute.
    case null
    /// A truth value.
    case bool(Bool)
    /// A signed 64-bit integer.
    case int(Int64)
    /// A finite double.
    case double(Double)
    /// Text in NFC.
    case string(String)
    /// An instant, exact to the last bit of its `Double`.
    case date(Date)
    /// An identifier.
    case uuid(UUID)
    /// Bytes.
    case data(Data)
    /// A list of texts, in its own order.
    case strings([String])
    /// The identifiers of linked records, ascending and without repeats.
    case links([UUID])
}

extension Value {
    /// Whether this is ``null``.
    public var isNull: Bool {
        if case .null = self { return true }
        return false
    }

    /// The value in its stored form: text in NFC, `-0.0` as `0.0`, links sorted and without repeats.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for NaN and infinities.
    public func normalized() throws -> Value {
        switch self {
        case .double(let number): return .double(try number.storable())
        case .date(let date): return .date(try date.storable())
        case .string(let text): return .string(text.normalizedToNFC())
        case .strings(let texts): return .strings(texts.map { $0.normalizedToNFC() })
        case .links(let ids): return .links(Set(ids).sorted { $0.isBefore($1) })
        case .null, .bool, .int, .uuid, .data: return self
        }
    }
}

extension Value: CustomStringConvertible {
    /// The value as the text form of filters writes it.
    public var description: String {
        switch self {
        case .null: return "nil"
        case .bool(let flag): return flag ? "true" : "false"
        case .int(let number): return String(number)
        case .double(let number): return String(number)
        case .string(let text): return text.quotedForFilter
        case .date(let date): return "date(\(date.timeIntervalSinceReferenceDate))"
        case .uuid(let id): return "uuid(\"\(id.uuidString)\")"
        case .data(let bytes): return "data(\"\(bytes.base64EncodedString())\")"
        case .strings(let texts): return "[" + texts.map(\.quotedForFilter).joined(separator: ", ") + "]"
        case .links(let ids):
            return "links([" + ids.map { "\"\($0.uuidString)\"" }.joined(separator: ", ") + "])"
        }
    }
}

extension String {
    /// The text in double quotes, with `"`, `\` and control characters escaped as in JSON.
    var quotedForFilter: String {
        var result = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case "\0"..<" ", "\u{7f}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

/// How an attribute's value is kept, apart from its Swift type.
public enum AttributeKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// `Bool`.
    case bool
    /// `Int` or an enum with an `Int` raw value: 64 bits, signed.
    case int
    /// `Double`, finite.
    case double
    /// `String` or an enum with a `String` raw value: text in NFC.
    case string
    /// `Date`: seconds since 2001-01-01 00:00:00 UTC as an exact `Double`.
    case date
    /// `UUID`, also a reference to one record.
    case uuid
    /// `Data`, also a `Codable` value kept as JSON.
    case data
    /// `[String]`.
    case strings
    /// The identifiers of many linked records (`Set<UUID>`).
    case links
}

extension Value {
    /// The kind; nil for null.
    var kind: AttributeKind? {
        switch self {
        case .null: return nil
        case .bool: return .bool
        case .int: return .int
        case .double: return .double
        case .string: return .string
        case .date: return .date
        case .uuid: return .uuid
        case .data: return .data
        case .strings: return .strings
        case .links: return .links
        }
    }
}

extension Value {
    /// The declared total order: null first, then by the value; text by its UTF-8 bytes, identifiers and data by their
    /// bytes, lists element by element. Values of different kinds are ordered by kind, which no typed query meets.
    ///
    /// - Returns: negative when `self` is first, 0 when both are equal, positive when `other` is first.
    public func order(comparedWith other: Value) -> Int {
        switch (self, other) {
        case (.null, .null): return 0
        case (.int(let a), .int(let b)): return a == b ? 0 : (a < b ? -1 : 1)
        case (.double(let a), .double(let b)): return a == b ? 0 : (a < b ? -1 : 1)
        case (.date(let a), .date(let b)): return a == b ? 0 : (a < b ? -1 : 1)
        case (.string(let a), .string(let b)): return a.orderByBytes(comparedWith: b)
        case (.bool(let a), .bool(let b)): return a == b ? 0 : (b ? -1 : 1)
        case (.uuid(let a), .uuid(let b)): return a.order(comparedWith: b)
        case (.data(let a), .data(let b)): return Self.orderOfElements(a, b) { $0 == $1 ? 0 : ($0 < $1 ? -1 : 1) }
        case (.strings(let a), .strings(let b)): return Self.orderOfElements(a, b) { $0.orderByBytes(comparedWith: $1) }
        case (.links(let a), .links(let b)): return Self.orderOfElements(a, b) { $0.order(comparedWith: $1) }
        default: return kindRank - other.kindRank
        }
    }

    private var kindRank: Int {
        switch self {
        case .null: return 0
        case .bool: return 1
        case .int: return 2
        case .double: return 3
        case .date: return 4
        case .string: return 5
        case .uuid: return 6
        case .data: return 7
        case .strings: return 8
        case .links: return 9
        }
    }

    private static func orderOfElements<C: Collection>(
        _ left: C,
        _ right: C,
        _ order: (C.Element, C.Element) -> Int
    ) -> Int {
        var rightIndex = right.startIndex
        for element in left {
            guard rightIndex != right.endIndex else { return 1 }
            let result = order(element, right[rightIndex])
            if result != 0 { return result }
            rightIndex = right.index(after: rightIndex)
        }
        return rightIndex == right.endIndex ? 0 : -1
    }
}

extension UUID {
    /// Byte order: negative, 0 or positive like `memcmp`.
    func order(comparedWith other: UUID) -> Int {
        let (a, b) = (words, other.words)
        if a.0 != b.0 { return a.0 < b.0 ? -1 : 1 }
        return a.1 == b.1 ? 0 : (a.1 < b.1 ? -1 : 1)
    }

    /// Whether the receiver stands before `other` in byte order.
    @_spi(Engines) public func isBefore(_ other: UUID) -> Bool { order(comparedWith: other) < 0 }

    /// The sixteen bytes as two big-endian words, whose order is the order of the bytes.
    var words: (UInt64, UInt64) {
        withUnsafeBytes(of: uuid) { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }
}

/// In JSON a value is an object with one key, its kind: `{"string": "Run"}`, `{"date": 700000000.5}` (seconds since
/// 2001-01-01 UTC), `{"data": "<base64>"}`, and `null` for nil. Kinds stay apart, and numbers keep every bit.
extension Value: Codable {
    /// Reads a value.
    public init(from decoder: any Decoder) throws {
        let single = try decoder.singleValueContainer()
        if single.decodeNil() {
            self = .null
            return
        }
        let container = try decoder.container(keyedBy: AttributeKindKey.self)
        guard container.allKeys.count == 1, let key = container.allKeys.first else {
            throw DecodingError.dataCorruptedError(in: single, debugDescription: "a value has exactly one kind")
        }
        switch key.kind {
        case .bool: self = .bool(try container.decode(Bool.self, forKey: key))
        case .int: self = .int(try container.decode(Int64.self, forKey: key))
        case .double: self = .double(try container.decode(Double.self, forKey: key))
        case .string: self = .string(try container.decode(String.self, forKey: key))
        case .date:
            self = .date(Date(timeIntervalSinceReferenceDate: try container.decode(Double.self, forKey: key)))
        case .uuid: self = .uuid(try container.decode(UUID.self, forKey: key))
        case .data: self = .data(try container.decode(Data.self, forKey: key))
        case .strings: self = .strings(try container.decode([String].self, forKey: key))
        case .links: self = .links(try container.decode([UUID].self, forKey: key))
        }
    }

    /// Writes a value.
    public func encode(to encoder: any Encoder) throws {
        guard let kind else {
            var container = encoder.singleValueContainer()
            try container.encodeNil()
            return
        }
        var container = encoder.container(keyedBy: AttributeKindKey.self)
        let key = AttributeKindKey(kind: kind)
        switch self {
        case .null: break
        case .bool(let flag): try container.encode(flag, forKey: key)
        case .int(let number): try container.encode(number, forKey: key)
        case .double(let number): try container.encode(number, forKey: key)
        case .string(let text): try container.encode(text, forKey: key)
        case .date(let date): try container.encode(date.timeIntervalSinceReferenceDate, forKey: key)
        case .uuid(let id): try container.encode(id, forKey: key)
        case .data(let bytes): try container.encode(bytes, forKey: key)
        case .strings(let texts): try container.encode(texts, forKey: key)
        case .links(let ids): try container.encode(ids, forKey: key)
        }
    }
}

/// The kind of a value as a JSON key.
private struct AttributeKindKey: CodingKey {
    let kind: AttributeKind

    init(kind: AttributeKind) { self.kind = kind }

    init?(stringValue: String) {
        guard let kind = AttributeKind(rawValue: stringValue) else { return nil }
        self.kind = kind
    }

    init?(intValue: Int) { nil }

    var stringValue: String { kind.rawValue }
    var intValue: Int? { nil }
}

extension String {
    /// A text from bytes of a file, in NFC; nil if they are not UTF-8.
    package static func stored(_ utf8: UnsafeRawBufferPointer) -> String? {
        // ASCII is valid and in NFC as it stands, and most text is ASCII.
        if utf8.isASCII { return String(decoding: utf8, as: UTF8.self) }
        return String(validating: utf8.bindMemory(to: UInt8.self), as: UTF8.self)?.normalizedToNFC()
    }

    /// The text in Unicode normalization form C, in which every store keeps text.
    ///
    /// Text whose scalars all lie below U+0300 is in NFC as it stands (no combining mark and nothing that composes);
    /// only other text pays for the normalization.
    @_spi(Engines) public func normalizedToNFC() -> String {
        hasOnlyScalarsBelowCombiningMarks ? self : precomposedStringWithCanonicalMapping
    }

    /// Whether the text is in NFC, scalar for scalar.
    @_spi(Engines) public var isInNFC: Bool {
        hasOnlyScalarsBelowCombiningMarks
            || unicodeScalars.elementsEqual(precomposedStringWithCanonicalMapping.unicodeScalars)
    }

    /// U+0300, the first combining mark, is `CC 80` in UTF-8; a lower lead byte means a lower scalar.
    private var hasOnlyScalarsBelowCombiningMarks: Bool {
        utf8.withContiguousStorageIfAvailable { !$0.contains { $0 >= 0xCC } } ?? !utf8.contains { $0 >= 0xCC }
    }

    /// Order of the UTF-8 bytes: negative, 0 or positive like `memcmp`, a prefix first.
    ///
    /// Swift's own `<` is not transitive on decomposed text; this order is total, and both engines share it.
    @_spi(Engines) public func orderByBytes(comparedWith other: String) -> Int {
        let fast = utf8.withContiguousStorageIfAvailable { left in
            other.utf8.withContiguousStorageIfAvailable { right in Self.order(left, right) }
        }
        if let result = fast ?? nil { return result }
        return ContiguousArray(utf8).withUnsafeBufferPointer { left in
            ContiguousArray(other.utf8).withUnsafeBufferPointer { right in Self.order(left, right) }
        }
    }

    private static func order(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int {
        let shared = Swift.min(left.count, right.count)
        if shared > 0, let leftBase = left.baseAddress, let rightBase = right.baseAddress {
            let result = memcmp(leftBase, rightBase, shared)
            if result != 0 { return Int(result) }
        }
        return left.count - right.count
    }
}

extension Double {
    /// The number in its stored form: `-0.0` becomes `0.0`, which Swift calls equal.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for NaN and infinities, which have no place in a total order.
    @inlinable
    @_spi(Engines) public func storable() throws -> Double {
        guard isFinite else { throw HabitStoreError.notFinite }
        return self == 0 ? 0 : self
    }
}

extension Date {
    /// The instant in its stored form; see ``Swift/Double/storable()``.
    @inlinable
    @_spi(Engines) public func storable() throws -> Date {
        Date(timeIntervalSinceReferenceDate: try timeIntervalSinceReferenceDate.storable())
    }
}

extension HabitStoreError {
    /// NaN or an infinity was handed to a store.
    @usableFromInline static let notFinite = HabitStoreError(
        .invalidValue,
        "NaN and infinity cannot be stored, since they have no place in an order; store a finite number or nil"
    )
}

extension UUID {
    /// The identifier that a name has within a namespace: version 5 of RFC 9562, the first 16 bytes of the SHA-1 of the
    /// namespace's bytes and the name's UTF-8. The same name always has the same identifier, on every machine.
    ///
    /// - Parameter name: hashed as its UTF-8 stands; normalize it first where other Unicode forms mean the same.
    public static func named(_ name: String, in namespace: UUID) -> UUID {
        var hash = Insecure.SHA1()
        withUnsafeBytes(of: namespace.uuid) { hash.update(bufferPointer: $0) }
        hash.update(data: Data(name.utf8))
        var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &bytes) { bytes in
            for (place, byte) in zip(bytes.indices, hash.finalize()) { bytes[place] = byte }
            bytes[6] = bytes[6] & 0x0F | 0x50
            bytes[8] = bytes[8] & 0x3F | 0x80
        }
        return UUID(uuid: bytes)
    }
}
