import Foundation

/// An encoded record in borrowed memory: reads any attribute by its position; ``reader`` reads them in order.
///
/// It is valid only as long as the memory is. Nothing in it is trusted: ``init(validating:layout:)`` checks the header and the checksum, and each
/// access is checked against the record's bounds.
///
/// - Important: it does not keep its layout alive; the schema that the layout belongs to must outlive it.
@_spi(Engines) public struct RecordView: RecordAccess {
    /// The bytes.
    public let bytes: UnsafeRawBufferPointer
    @usableFromInline unowned(unsafe) let layout: RecordLayout

    /// A view over bytes from a file.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` when the header is not that of a record of `layout`, or the checksum
    ///   is wrong; ``HabitStoreError/Code/newerVersion`` for a later format version.
    @inlinable
    @inline(__always)
    public init(validating bytes: UnsafeRawBufferPointer, layout: __shared RecordLayout) throws {
        // The first four bytes are the version, a zero and the number of attributes: one comparison for all three.
        let header = UInt32(RecordLayout.formatVersion) | UInt32(truncatingIfNeeded: layout.attributeCount) << 16
        guard bytes.count >= layout.fixedSize, bytes.loadUnaligned(as: UInt32.self) == header.littleEndian,
            UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
                == RecordChecksum.compute(bytes)
        else { throw Self.invalid(bytes, layout) }
        self.init(trusting: bytes, layout: layout)
    }

    /// The reason why bytes are not a valid record.
    @usableFromInline
    @inline(never)
    static func invalid(_ bytes: UnsafeRawBufferPointer, _ layout: RecordLayout) -> HabitStoreError {
        guard bytes.count >= layout.fixedSize else {
            return HabitStoreError.damage(
                "a record is shorter than its attributes; run `\(OperatorCommand.name) check`"
            )
        }
        guard bytes[0] == RecordLayout.formatVersion else {
            let isNewer = bytes[0] > RecordLayout.formatVersion
            return HabitStoreError(
                isNewer ? .newerVersion : .corrupt,
                "a record has format version \(bytes[0]); this version reads \(RecordLayout.formatVersion)",
                isDamage: !isNewer
            )
        }
        return HabitStoreError.damage(
            "a record's checksum is wrong: its bytes have changed since it was written"
        )
    }

    /// A view over bytes that this process has written or checked.
    @inlinable
    @inline(__always)
    public init(trusting bytes: UnsafeRawBufferPointer, layout: __shared RecordLayout) {
        self.bytes = bytes
        self.layout = layout
    }

    /// Reads the attributes in order.
    @inlinable public var reader: AttributeReader { AttributeReader(bytes, layout: layout) }

    // MARK: Reading by position

    /// Whether the attribute at a position is null.
    @inline(__always)
    public func isNull(at field: Int) -> Bool {
        let offset = RecordLayout.headerSize &+ field / 8
        return offset >= bytes.count || bytes[offset] & (1 << UInt8(truncatingIfNeeded: field % 8)) != 0
    }

    /// The value of the attribute at a position.
    public func value(at field: Int) throws -> Value {
        if isNull(at: field) { return .null }
        let offset = layout.offsets[field]
        switch layout.kinds[field] {
        case .bool: return .bool(try load(offset, as: UInt8.self) != 0)
        case .int: return .int(Int64(littleEndian: try load(offset, as: Int64.self)))
        case .double: return .double(try double(at: offset))
        case .date: return .date(Date(timeIntervalSinceReferenceDate: try double(at: offset)))
        case .uuid: return .uuid(UUID(uuid: try load(offset, as: uuid_t.self)))
        case .string: return .string(try AttributeReader.text(variable(at: offset)))
        case .data: return .data(Data(try variable(at: offset)))
        case .strings: return .strings(try Self.texts(variable(at: offset)))
        case .links: return .links(try Self.links(variable(at: offset)))
        }
    }

    /// The identifier, which is every record's first attribute.
    public func identifier() throws -> UUID {
        guard layout.firstSlot &+ 16 <= bytes.count else { throw AttributeReader.outOfBounds }
        return bytes.loadUnaligned(fromByteOffset: layout.firstSlot, as: UUID.self)
    }

    /// A copy that owns its bytes.
    public func encoded() -> EncodedRecord { EncodedRecord(copying: bytes) }

    /// The encoded bytes of an attribute, for comparing and for index keys; empty for null.
    public func rawBytes(at field: Int) throws -> UnsafeRawBufferPointer {
        if isNull(at: field) { return UnsafeRawBufferPointer(start: nil, count: 0) }
        guard field < layout.attributeCount, let base = bytes.baseAddress else { throw AttributeReader.outOfBounds }
        let slot = layout.slots[field]
        guard slot.size > 0 else { return try variable(at: slot.offset) }
        guard slot.offset &+ slot.size <= bytes.count else { throw AttributeReader.outOfBounds }
        return UnsafeRawBufferPointer(start: base + slot.offset, count: slot.size)
    }

    // MARK: Checked access

    @inline(__always)
    private func load<T: BitwiseCopyable>(_ offset: Int, as type: T.Type) throws -> T {
        guard offset >= 0, offset &+ MemoryLayout<T>.size <= bytes.count else { throw AttributeReader.outOfBounds }
        return bytes.loadUnaligned(fromByteOffset: offset, as: type)
    }

    @inline(__always)
    private func double(at offset: Int) throws -> Double {
        let number = Double(bitPattern: UInt64(littleEndian: try load(offset, as: UInt64.self)))
        guard number.isFinite else { throw AttributeReader.outOfBounds }
        return number
    }

    @inline(__always)
    private func variable(at slot: Int) throws -> UnsafeRawBufferPointer {
        let start = Int(UInt32(littleEndian: try load(slot, as: UInt32.self)))
        let count = Int(UInt32(littleEndian: try load(slot &+ 4, as: UInt32.self)))
        guard start &+ count <= bytes.count, let base = bytes.baseAddress else { throw AttributeReader.outOfBounds }
        return UnsafeRawBufferPointer(start: base + start, count: count)
    }

    static func texts(_ encoded: UnsafeRawBufferPointer) throws -> [String] {
        var result: [String] = []
        try forEachText(encoded) { result.append(try AttributeReader.text($0)) }
        return result
    }

    private static func forEachText(
        _ encoded: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        guard encoded.count >= 4 else { throw AttributeReader.outOfBounds }
        var offset = 4
        for _ in 0..<UInt32(littleEndian: encoded.loadUnaligned(as: UInt32.self)) {
            guard offset + 4 <= encoded.count else { throw AttributeReader.outOfBounds }
            let count = Int(UInt32(littleEndian: encoded.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
            guard offset + 4 + count <= encoded.count else { throw AttributeReader.outOfBounds }
            try body(UnsafeRawBufferPointer(rebasing: encoded[offset + 4..<offset + 4 + count]))
            offset += 4 + count
        }
    }

    /// Whether an attribute's texts are in NFC in the record; true if it has none.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` if a text is not valid.
    package func isTextInNFC(at field: Int) throws -> Bool {
        let kind = layout.kinds[field]
        guard kind == .string || kind == .strings, !isNull(at: field) else { return true }
        let bytes = try rawBytes(at: field)
        // The first combining mark begins with CC; what lies below has one form.
        if bytes.allSatisfy({ $0 < 0xCC }) { return true }
        guard kind == .strings else { return try Self.isInNFC(bytes) }
        var isInNFC = true
        try Self.forEachText(bytes) { isInNFC = try Self.isInNFC($0) && isInNFC }
        return isInNFC
    }

    private static func isInNFC(_ utf8: UnsafeRawBufferPointer) throws -> Bool {
        guard let text = String(validating: utf8.bindMemory(to: UInt8.self), as: UTF8.self) else {
            throw AttributeReader.outOfBounds
        }
        return text.isInNFC
    }

    static func links(_ encoded: UnsafeRawBufferPointer) throws -> [UUID] {
        guard encoded.count % 16 == 0 else { throw AttributeReader.outOfBounds }
        return stride(from: 0, to: encoded.count, by: 16).map {
            UUID(uuid: encoded.loadUnaligned(fromByteOffset: $0, as: uuid_t.self))
        }
    }

}

extension UnsafeRawBufferPointer {
    /// Whether all bytes are below 0x80, eight at a time.
    @inlinable package var isASCII: Bool {
        guard count >= 8 else { return allSatisfy { $0 < 0x80 } }
        var seen: UInt64 = 0
        var offset = 0
        while offset &+ 8 <= count {
            seen |= loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset &+= 8
        }
        // The last eight, of which some were seen before.
        seen |= loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
        return seen & 0x8080_8080_8080_8080 == 0
    }
}

/// A record as the evaluator sees it: values by position.
@_spi(Engines) public protocol RecordAccess {
    /// The value of the attribute at a position.
    func value(at position: Int) throws -> Value
}

/// A row as filters read it: what an ``AttributeReader`` points to, valid as long as that is lent. It never leaves the evaluation
/// of a filter.
struct LentRow: RecordAccess {
    let bytes: UnsafeRawBufferPointer
    let columns: Unmanaged<AttributeColumns>?
    unowned(unsafe) let layout: RecordLayout

    func value(at position: Int) throws -> Value {
        if bytes.baseAddress == nil, let columns { return try columns.lent { try $0.value(position) } }
        return try RecordView(trusting: bytes, layout: layout).value(at: position)
    }
}

/// A record without its Swift type: values in the order of the entity's attributes.
public struct Record: Sendable, Hashable {
    /// The position of the entity in the schema.
    public let entity: Int
    /// The identifier.
    public let id: UUID
    /// The values.
    public let values: [Value]

    /// Makes a record.
    public init(entity: Int, id: UUID, values: [Value]) {
        self.entity = entity
        self.id = id
        self.values = values
    }
}

@_spi(Engines) extension Record: RecordAccess {
    /// The value of the attribute at a position.
    public func value(at position: Int) throws -> Value { values[position] }
}
