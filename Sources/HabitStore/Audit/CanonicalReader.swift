import Foundation

/// Takes a ``CanonicalForm`` apart again, to say which attribute differs.
@_spi(Engines) public struct CanonicalReader {
    /// One attribute.
    public struct Part {
        /// What kind of value it is.
        public let tag: CanonicalForm.Tag
        /// Its bytes, the tag left out.
        public let bytes: UnsafeRawBufferPointer

        /// Whether both are the same to the last bit.
        public func isIdentical(to other: Part) -> Bool { tag == other.tag && bytes.elementsEqual(other.bytes) }
    }

    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    /// Reads a form's bytes, which must stay where they are meanwhile.
    public init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The next attribute; nil after the last.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` for bytes that are not a canonical form.
    public mutating func next() throws -> Part? {
        guard offset < bytes.count else { return nil }
        guard let tag = CanonicalForm.Tag(rawValue: bytes[offset]) else { throw Self.malformed }
        let start = offset + 1
        offset = start
        switch tag {
        case .null: break
        case .bool: try pass(1)
        case .int, .double, .date: try pass(8)
        case .uuid: try pass(16)
        case .text, .data, .invalid: try pass(try number())
        case .texts:
            for _ in 0..<(try number()) { try pass(try number()) }
        case .links:
            let (count, isTooMuch) = (try number()).multipliedReportingOverflow(by: 16)
            if isTooMuch { throw Self.malformed }
            try pass(count)
        }
        return Part(tag: tag, bytes: UnsafeRawBufferPointer(rebasing: bytes[start..<offset]))
    }

    private mutating func number() throws -> Int {
        let start = offset
        try pass(4)
        return Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self)))
    }

    private mutating func pass(_ count: Int) throws {
        guard count <= bytes.count - offset else { throw Self.malformed }
        offset += count
    }

    private static let malformed = HabitStoreError.damage(
        "the bytes are not a record in canonical form: they were cut off or changed"
    )
}

@_spi(Engines) extension CanonicalReader.Part {
    /// The value; nil for what is none.
    public var value: Value? {
        switch tag {
        case .null: return .null
        case .bool: return .bool(bytes[0] != 0)
        case .int: return .int(Int64(littleEndian: bytes.loadUnaligned(as: Int64.self)))
        case .double: return .double(double)
        case .date: return .date(Date(timeIntervalSinceReferenceDate: double))
        case .uuid: return .uuid(UUID(uuid: bytes.loadUnaligned(as: uuid_t.self)))
        case .text: return text(bytes[4...]).map(Value.string)
        case .data: return .data(Data(bytes[4...]))
        case .texts: return texts
        case .links:
            return .links(
                stride(from: 4, to: bytes.count, by: 16).map {
                    UUID(uuid: bytes.loadUnaligned(fromByteOffset: $0, as: uuid_t.self))
                }
            )
        case .invalid: return nil
        }
    }

    private var double: Double { Double(bitPattern: UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))) }

    private func text(_ utf8: Slice<UnsafeRawBufferPointer>) -> String? { String(validating: utf8, as: UTF8.self) }

    private var texts: Value? {
        var found: [String] = []
        var offset = 4
        while offset + 4 <= bytes.count {
            let count = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
            guard let text = text(bytes[(offset + 4)..<(offset + 4 + count)]) else { return nil }
            found.append(text)
            offset += 4 + count
        }
        return .strings(found)
    }
}
