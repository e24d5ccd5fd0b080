import Foundation
@_spi(Engines) import HabitStore

/// Reads records for the verifier. It decodes their bytes from the format's description (`RecordLayout`) and shares no code with the transactions'
/// reader:
/// a bug in either one is found by the comparison instead of being made twice.
final class JournalAuditCursor: AuditCursor {
    private let layout: RecordLayout
    private let form = CanonicalForm()
    private var rest: ArraySlice<(id: UUID, record: EncodedRecord)>
    private(set) var identifier = IdentifierRange.all.first

    init(_ records: SortedRecords, _ layout: RecordLayout, _ range: IdentifierRange) {
        self.layout = layout
        var found: [(id: UUID, record: EncodedRecord)] = []
        records.forEach(from: range.first) { id, record in
            guard range.contains(id) else { return false }
            found.append((id, record))
            return true
        }
        rest = found[...]
    }

    var canonical: UnsafeRawBufferPointer { form.bytes }

    func next() -> Bool {
        guard let (id, record) = rest.popFirst() else { return false }
        identifier = id
        form.begin()
        record.bytes.withUnsafeBytes { bytes in
            for (position, kind) in layout.kinds.enumerated() { write(kind, position, bytes) }
        }
        return true
    }

    private func write(_ kind: AttributeKind, _ position: Int, _ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= layout.fixedSize else { return form.append(bytes: bytes, tag: .invalid) }
        // After the eight bytes of the header there is one bit for each attribute.
        guard bytes[8 + position / 8] & (1 << (position % 8)) == 0 else { return form.appendNull() }
        let slot = layout.offsets[position]
        switch kind {
        case .bool: form.append(bool: bytes[slot] != 0)
        case .int: form.append(int: Int64(bitPattern: number(bytes, slot)))
        case .double: form.append(bits: number(bytes, slot), tag: .double)
        case .date: form.append(bits: number(bytes, slot), tag: .date)
        case .uuid: form.append(uuid: bytes.loadUnaligned(fromByteOffset: slot, as: UUID.self))
        case .string, .data, .strings, .links:
            guard let part = variable(bytes, slot), write(kind, part) else {
                return form.append(bytes: bytes, tag: .invalid)
            }
        }
    }

    /// Writes a value of variable length; returns false, and writes nothing, for a malformed value.
    private func write(_ kind: AttributeKind, _ part: UnsafeRawBufferPointer) -> Bool {
        switch kind {
        case .string: form.append(bytes: part, tag: .text)
        case .links:
            guard part.count.isMultiple(of: 16) else { return false }
            form.beginList(.links, count: part.count / 16)
            for start in stride(from: 0, to: part.count, by: 16) {
                form.appendLink(part.loadUnaligned(fromByteOffset: start, as: UUID.self))
            }
        case .strings:
            guard let texts = texts(part) else { return false }
            form.beginList(.texts, count: texts.count)
            for text in texts { form.appendItem(text) }
        default: form.append(bytes: part, tag: .data)
        }
        return true
    }

    private func texts(_ part: UnsafeRawBufferPointer) -> [UnsafeRawBufferPointer]? {
        guard part.count >= 4 else { return nil }
        var (place, texts): (Int, [UnsafeRawBufferPointer]) = (4, [])
        for _ in 0..<length(part, 0) {
            guard place + 4 <= part.count, length(part, place) <= part.count - place - 4 else { return nil }
            let end = place + 4 + length(part, place)
            texts.append(UnsafeRawBufferPointer(rebasing: part[place + 4..<end]))
            place = end
        }
        return texts
    }

    private func variable(_ bytes: UnsafeRawBufferPointer, _ slot: Int) -> UnsafeRawBufferPointer? {
        let (start, count) = (length(bytes, slot), length(bytes, slot + 4))
        guard start <= bytes.count, count <= bytes.count - start else { return nil }
        return UnsafeRawBufferPointer(rebasing: bytes[start..<start + count])
    }

    private func length(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> Int {
        Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)))
    }

    private func number(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }
}
