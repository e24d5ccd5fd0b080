import Foundation
@_spi(Engines) import HabitStore

/// Walks an entity's records in key order and writes each one's canonical form from its bytes.
///
/// Deliberately independent of ``RecordLayout``, ``RecordView`` and ``AttributeReader``, which all other readers use: it computes
/// the offset of each value from the format's description.
package final class RecordAudit: AuditCursor {
    /// The bytes before the null bitmap: version, zero, number of attributes, checksum.
    private static let headerLength = 8

    private struct Slot {
        let kind: AttributeKind
        let offset: Int
    }

    /// Returns the next record's key and value in the range, valid until the next call.
    private let nextRecord: () throws -> (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)?
    private let slots: [Slot]
    private let fixedLength: Int
    private let range: IdentifierRange
    private let isWhole: Bool
    private let name: String
    private let path: String
    private let form = CanonicalForm()
    /// The key's two halves, in the order of its bytes.
    @exclusivity(unchecked) private var key: (UInt64, UInt64) = (0, 0)

    /// - Parameters:
    ///   - range: the range to walk. `nextRecord` may continue after it, but must not begin before it.
    ///   - path: for errors.
    ///   - nextRecord: returns the key and value of the first record in the range, and then of each next one.
    package init(
        _ entity: EntityDescription,
        _ range: IdentifierRange,
        path: String,
        nextRecord: @escaping () throws -> (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)?
    ) {
        self.nextRecord = nextRecord
        self.range = range
        isWhole = range == .all
        self.path = path
        name = entity.name
        var offset = Self.headerLength + (entity.attributes.count + 7) / 8
        slots = entity.attributes.map { attribute in
            defer { offset += Self.length(attribute.kind) }
            return Slot(kind: attribute.kind, offset: offset)
        }
        fixedLength = offset
    }

    /// The bytes of an attribute's slot: its value, or the offset and length of its value.
    private static func length(_ kind: AttributeKind) -> Int {
        switch kind {
        case .bool: 1
        case .int, .double, .date, .string, .data, .strings, .links: 8
        case .uuid: 16
        }
    }

    package var identifier: UUID {
        withUnsafeBytes(of: (key.0.bigEndian, key.1.bigEndian)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    package var canonical: UnsafeRawBufferPointer { form.bytes }

    package func next() throws -> Bool {
        guard let record = try nextRecord() else { return false }
        guard record.key.count == 16 else {
            throw HabitStoreError.damage(
                "a \(name) has an identifier that is not 16 bytes long; run `\(OperatorCommand.name) check`",
                at: .init(path: path, entity: name)
            )
        }
        key = Self.halves(record.key, 0)
        if !isWhole, range.last.isBefore(identifier) { return false }
        write(record.value)
        return true
    }

    @inline(__always)
    private static func halves(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> (UInt64, UInt64) {
        (
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)),
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset &+ 8, as: UInt64.self))
        )
    }

    private func write(_ record: UnsafeRawBufferPointer) {
        form.begin()
        // A record under another key than its identifier is invalid, as is one with a malformed header.
        guard record.count >= fixedLength, record[0] == 1, record[1] == 0,
            Int(UInt16(littleEndian: record.loadUnaligned(fromByteOffset: 2, as: UInt16.self))) == slots.count,
            Self.halves(record, slots[0].offset) == key
        else { return form.append(bytes: record, tag: .invalid) }
        for position in 0..<slots.count {
            if record[Self.headerLength &+ position / 8] & (1 << UInt8(truncatingIfNeeded: position % 8)) != 0 {
                form.appendNull()
            } else {
                write(slots[position], record)
            }
        }
    }

    @inline(__always)
    private func write(_ slot: Slot, _ record: UnsafeRawBufferPointer) {
        switch slot.kind {
        case .bool:
            let byte = record[slot.offset]
            byte < 2 ? form.append(bool: byte == 1) : writeInvalid(record, slot.offset, 1)
        case .int: form.append(int: Int64(bitPattern: Self.word(record, slot)))
        case .double: writeNumber(.double, record, slot)
        case .date: writeNumber(.date, record, slot)
        case .uuid:
            if let start = record.baseAddress { form.append(identifierAt: start + slot.offset) }
        case .string, .data, .strings, .links: writeVariable(record, slot)
        }
    }

    @inline(__always)
    private static func word(_ record: UnsafeRawBufferPointer, _ slot: Slot) -> UInt64 {
        UInt64(littleEndian: record.loadUnaligned(fromByteOffset: slot.offset, as: UInt64.self))
    }

    private func writeNumber(_ tag: CanonicalForm.Tag, _ record: UnsafeRawBufferPointer, _ slot: Slot) {
        let bits = Self.word(record, slot)
        Double(bitPattern: bits).isFinite ? form.append(bits: bits, tag: tag) : writeInvalid(record, slot.offset, 8)
    }

    private func writeVariable(_ record: UnsafeRawBufferPointer, _ slot: Slot) {
        let word = Self.word(record, slot)
        let (start, count) = (Int(word & 0xFFFF_FFFF), Int(word &>> 32))
        guard start >= fixedLength, start + count <= record.count else { return writeInvalid(record, slot.offset, 8) }
        let part = UnsafeRawBufferPointer(rebasing: record[start..<start + count])
        switch slot.kind {
        case .string: form.append(bytes: part, tag: .text)
        case .data: form.append(bytes: part, tag: .data)
        case .links: writeLinks(part)
        default: writeTexts(part)
        }
    }

    private func writeLinks(_ part: UnsafeRawBufferPointer) {
        guard part.count.isMultiple(of: 16) else { return form.append(bytes: part, tag: .invalid) }
        form.beginList(.links, count: part.count / 16)
        for start in stride(from: 0, to: part.count, by: 16) {
            form.appendLink(UUID(uuid: part.loadUnaligned(fromByteOffset: start, as: uuid_t.self)))
        }
    }

    /// A count, then each text's length and bytes: the same as the canonical form, once it is known to be valid.
    private func writeTexts(_ part: UnsafeRawBufferPointer) {
        guard let items = Self.items(part) else { return form.append(bytes: part, tag: .invalid) }
        form.beginList(.texts, count: items.count)
        for item in items { form.appendItem(UnsafeRawBufferPointer(rebasing: part[item])) }
    }

    private static func items(_ part: UnsafeRawBufferPointer) -> [Range<Int>]? {
        func number(_ offset: Int) -> Int? {
            guard offset + 4 <= part.count else { return nil }
            return Int(UInt32(littleEndian: part.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
        }
        guard let count = number(0) else { return nil }
        var items: [Range<Int>] = []
        var offset = 4
        for _ in 0..<count {
            guard let length = number(offset), offset + 4 + length <= part.count else { return nil }
            items.append(offset + 4..<offset + 4 + length)
            offset += 4 + length
        }
        return offset == part.count ? items : nil
    }

    private func writeInvalid(_ record: UnsafeRawBufferPointer, _ offset: Int, _ length: Int) {
        form.append(bytes: UnsafeRawBufferPointer(rebasing: record[offset..<offset + length]), tag: .invalid)
    }
}
