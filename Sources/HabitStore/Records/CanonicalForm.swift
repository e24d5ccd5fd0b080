import Foundation

/// A record's values as bytes, different for different values, for comparing records and for digests.
///
/// For each attribute, in the order of the schema, a tag and its value; numbers are little-endian:
///
/// ```
/// 0 nil       nothing                          5 date    8 bytes, the Double's bits: seconds since 2001
/// 1 bool      1 byte                           6 uuid    16 bytes
/// 2 int       8 bytes                          7 data    length u32, the bytes
/// 3 double    8 bytes, the Double's bits       8 texts   count u32, for each: length u32, UTF-8
/// 4 text      length u32, UTF-8                9 links   count u32, for each 16 bytes
/// 255 what is no value of the attribute: length u32, the bytes as they were found
/// ```
/// Tags and lengths keep nil, "" and "<null>" apart, and ("a", "bc") from ("ab", "c"). Each engine's audit has its own code for
/// writing this form, as do the transactions that maintain a store's digests: the form is the only thing that they share.
@_spi(Engines) public final class CanonicalForm {
    /// The byte before a value.
    public enum Tag: UInt8, Sendable {
        case null, bool, int, double, text, date, uuid, data, texts, links
        /// A value that its attribute cannot have.
        case invalid = 255
    }

    // A form belongs to one cursor or ledger, which writes records one after the other: what Swift would check at each
    // access, that no other one is under way, takes as long as the writing.
    @exclusivity(unchecked) @usableFromInline var start: UnsafeMutableRawPointer
    @exclusivity(unchecked) @usableFromInline var capacity: Int
    @exclusivity(unchecked) @usableFromInline var count = 0

    /// An empty form, whose memory is used again for each record.
    public init() {
        capacity = 256
        start = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit { start.deallocate() }

    /// The bytes written since ``begin()``, valid until the next write.
    @inlinable public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// Begins a record.
    @inlinable public func begin() { count = 0 }

    /// Writes nil.
    @inlinable
    public func appendNull() {
        reserve(1)
        put(Tag.null.rawValue)
    }

    /// Writes a truth value.
    @inlinable
    public func append(bool: Bool) {
        reserve(2)
        put(Tag.bool.rawValue)
        put(bool ? 1 : 0 as UInt8)
    }

    /// Writes a whole number.
    @inlinable
    public func append(int: Int64) {
        reserve(9)
        put(Tag.int.rawValue)
        put(int.littleEndian)
    }

    /// Writes a double's bits, or those of a date's seconds since 2001.
    @inlinable
    public func append(bits: UInt64, tag: Tag) {
        reserve(9)
        put(tag.rawValue)
        put(bits.littleEndian)
    }

    /// Writes an identifier.
    @inlinable
    public func append(uuid: UUID) {
        reserve(17)
        put(Tag.uuid.rawValue)
        put(uuid.uuid)
    }

    /// Writes the identifier that lies at a place.
    @inlinable
    public func append(identifierAt bytes: UnsafeRawPointer) {
        reserve(17)
        put(Tag.uuid.rawValue)
        put(bytes.loadUnaligned(as: UInt64.self))
        put(bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    /// The identifier of the record that was written: its first attribute. nil when that is none.
    public var identifier: UUID? {
        guard count >= 17, start.load(as: UInt8.self) == Tag.uuid.rawValue else { return nil }
        return UUID(uuid: start.loadUnaligned(fromByteOffset: 1, as: uuid_t.self))
    }

    /// Writes text, data, or an invalid value.
    @inlinable
    public func append(bytes: UnsafeRawBufferPointer, tag: Tag) {
        reserve(5 + bytes.count)
        put(tag.rawValue)
        putItem(bytes)
    }

    /// Begins texts or links; `count` calls of ``appendItem(_:)`` or ``appendLink(_:)`` follow.
    @inlinable
    public func beginList(_ tag: Tag, count: Int) {
        reserve(5)
        put(tag.rawValue)
        put(UInt32(truncatingIfNeeded: count).littleEndian)
    }

    /// Writes one of the texts of a list.
    @inlinable
    public func appendItem(_ utf8: UnsafeRawBufferPointer) {
        reserve(4 + utf8.count)
        putItem(utf8)
    }

    /// Writes one of the links of a list.
    @inlinable
    public func appendLink(_ link: UUID) {
        reserve(16)
        put(link.uuid)
    }

    @inlinable
    @inline(__always)
    func putItem(_ bytes: UnsafeRawBufferPointer) {
        put(UInt32(truncatingIfNeeded: bytes.count).littleEndian)
        if let base = bytes.baseAddress { (start + count).copyMemory(from: base, byteCount: bytes.count) }
        count &+= bytes.count
    }

    @inlinable
    @inline(__always)
    func put<T: BitwiseCopyable>(_ value: T) {
        start.storeBytes(of: value, toByteOffset: count, as: T.self)
        count &+= MemoryLayout<T>.size
    }

    @inlinable
    @inline(__always)
    func reserve(_ more: Int) {
        if count &+ more > capacity { grow(more) }
    }

    @usableFromInline
    @inline(never)
    func grow(_ more: Int) {
        let larger = max(2 * capacity, count + more)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        moved.copyMemory(from: start, byteCount: count)
        start.deallocate()
        (start, capacity) = (moved, larger)
    }
}

@_spi(Engines) extension CanonicalForm {
    /// Writes an encoded record: the form that digests are kept over.
    func write(_ record: RecordView, _ layout: RecordLayout) throws {
        begin()
        for (position, kind) in layout.kinds.enumerated() {
            if record.isNull(at: position) {
                appendNull()
                continue
            }
            let bytes = try record.rawBytes(at: position)
            switch kind {
            case .bool: append(bool: bytes[0] != 0)
            case .int: append(int: Int64(littleEndian: bytes.loadUnaligned(as: Int64.self)))
            case .double: append(bits: UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)), tag: .double)
            case .date: append(bits: UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)), tag: .date)
            case .uuid: append(uuid: bytes.loadUnaligned(as: UUID.self))
            case .string: append(bytes: bytes, tag: .text)
            case .data: append(bytes: bytes, tag: .data)
            case .strings: append(texts: try RecordView.texts(bytes))
            case .links: append(links: try RecordView.links(bytes))
            }
        }
    }

    /// Writes a record's values, for comparing a store whose engine has no audit cursor.
    public func write(_ values: [Value]) {
        begin()
        append(values)
    }

    /// Appends values.
    public func append(_ values: [Value]) {
        for value in values {
            switch value {
            case .null: appendNull()
            case .bool(let flag): append(bool: flag)
            case .int(let number): append(int: number)
            case .double(let number): append(bits: number.bitPattern, tag: .double)
            case .date(let date): append(bits: date.timeIntervalSinceReferenceDate.bitPattern, tag: .date)
            case .uuid(let id): append(uuid: id)
            case .string(let text): append(text: text)
            case .data(let data): data.withUnsafeBytes { append(bytes: $0, tag: .data) }
            case .strings(let texts): append(texts: texts)
            case .links(let links): append(links: links)
            }
        }
    }

    private func append(text: String) {
        var text = text
        text.withUTF8 { append(bytes: UnsafeRawBufferPointer($0), tag: .text) }
    }

    /// Writes a list of texts.
    public func append(texts: [String]) {
        beginList(.texts, count: texts.count)
        for var text in texts { text.withUTF8 { appendItem(UnsafeRawBufferPointer($0)) } }
    }

    /// Writes links.
    public func append(links: [UUID]) {
        beginList(.links, count: links.count)
        for link in links { appendLink(link) }
    }
}

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
