import Foundation

extension AttributeReader {
    /// The next attribute, a `Bool` or nil.
    @inlinable
    public mutating func nextOptionalBool() throws -> Bool? { try skipNull(.bool) ? nil : nextBool() }
    /// The next attribute, an `Int` or nil.
    @inlinable
    public mutating func nextOptionalInt() throws -> Int? { try skipNull(.int) ? nil : nextInt() }
    /// The next attribute, a `Double` or nil.
    @inlinable
    @inline(__always)
    public mutating func nextOptionalDouble() throws -> Double? {
        guard isEncoded else { return try column { try $0.optionalDouble($1) } }
        return try skipNull(.double) ? nil : nextDouble()
    }
    /// The next attribute, text or nil.
    @inlinable
    @inline(__always)
    public mutating func nextOptionalString() throws -> String? {
        guard isEncoded else { return try column { try $0.optionalText($1) } }
        return try skipNull(.string) ? nil : nextString()
    }
    /// The next attribute, a `Date` or nil.
    @inlinable
    @inline(__always)
    public mutating func nextOptionalDate() throws -> Date? {
        try nextOptionalDouble().map { Date(timeIntervalSinceReferenceDate: $0) }
    }
    /// The next attribute, a `UUID` or nil.
    @inlinable
    @inline(__always)
    public mutating func nextOptionalUUID() throws -> UUID? {
        guard isEncoded else { return try column { try $0.optionalUUID($1) } }
        return try skipNull(.uuid) ? nil : nextUUID()
    }
    /// The next attribute, bytes or nil.
    @inlinable
    public mutating func nextOptionalData() throws -> Data? { try skipNull(.data) ? nil : nextData() }
    /// The next attribute, a list of texts or nil.
    @inlinable
    public mutating func nextOptionalStrings() throws -> [String]? { try skipNull(.strings) ? nil : nextStrings() }

    /// The next attribute of any convertible type: enums, JSON values, and generic code.
    ///
    /// - Throws: ``HabitStoreError/Code/unreadableValue`` when the type has no such value: most likely a newer version of the
    ///   app has written it. The store is sound, and every other record can be read.
    public mutating func next<T: AttributeConvertible>(_ type: T.Type = T.self) throws -> T {
        let value = try nextValue(of: T.attributeKind)
        guard let result = T(attributeValue: value) else {
            throw HabitStoreError(
                .unreadableValue,
                "the stored value is not a value of this version's \(T.self); let that type read it, or use the version of the app "
                    + "that wrote it"
            )
        }
        return result
    }

    /// The next attribute, without its Swift type.
    public mutating func nextValue(of kind: AttributeKind) throws -> Value {
        if try skipNull(kind) { return .null }
        switch kind {
        case .bool: return .bool(try nextBool())
        case .int: return .int(Int64(try nextInt()))
        case .double: return .double(try nextDouble())
        case .string: return .string(try nextString())
        case .date: return .date(try nextDate())
        case .uuid: return .uuid(try nextUUID())
        case .data: return .data(try nextData())
        case .strings: return .strings(try nextStrings())
        case .links: return .links(try nextLinks())
        }
    }
}
