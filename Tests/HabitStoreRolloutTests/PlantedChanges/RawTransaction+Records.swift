import Foundation
import RawStoreFiles

@_spi(Engines) @testable import HabitStore

extension RawTransaction {
    /// Changes the bytes of a record, and updates its checksum.
    func edit(_ entity: String, _ id: UUID, _ body: (inout [UInt8]) -> Void) throws {
        guard let old = try get(entity, id.rawBytes) else {
            throw HabitStoreError(.notFound, "the record to change is not there")
        }
        var record = old
        body(&record)
        if record.count >= RecordLayout.headerSize { RawRecord.seal(&record) }
        guard record != old else { throw HabitStoreError(.notFound, "the record stays unchanged") }
        try put(entity, id.rawBytes, record)
    }

    /// Replaces an existing value.
    func replace(_ database: String, _ key: [UInt8], _ body: ([UInt8]) -> [UInt8]?) throws {
        guard let old = try get(database, key) else { throw HabitStoreError(.notFound, "the key is not there") }
        let new = body(old)
        guard new != old else { throw HabitStoreError(.notFound, "the value stays unchanged") }
        if let new { try put(database, key, new) } else { try remove(database, key) }
    }

    /// Removes the items of a database whose keys begin with a prefix.
    func removeAll(_ database: String, _ prefix: [UInt8] = []) throws {
        for item in try items(database) where item.key.starts(with: prefix) { try remove(database, item.key) }
    }

    /// The bookkeeping's text under a key.
    func text(_ key: String) throws -> String {
        String(decoding: try get("metadata", Array(key.utf8)) ?? [], as: UTF8.self)
    }

    /// Sets a text of the bookkeeping, or removes it.
    func setText(_ key: String, _ text: String?) throws {
        let name = Array(key.utf8)
        if let text {
            try put("metadata", name, Array(text.utf8))
        } else if try get("metadata", name) != nil {
            try remove("metadata", name)
        }
    }
}

extension RawRecord {
    /// The offset of an attribute's slot.
    static func offset(_ attribute: String, in entity: EntityDescription) -> Int {
        entity.layout.offsets[entity.attributes.firstIndex { $0.name == attribute } ?? 0]
    }

    /// Lays out the variable parts of a record differently from the format: the same values in other bytes.
    static func layOut(_ record: inout [UInt8], _ layout: RecordLayout, gap: Int = 0, isReversed: Bool = false) {
        func number(_ offset: Int) -> Int {
            (0..<4).reduce(0) { $0 | Int(record[offset + $1]) << (8 * $1) }
        }
        let parts = layout.kinds.indices.filter { place in
            let isNull = record[RecordLayout.headerSize + place / 8] & 1 << UInt8(place % 8) != 0
            return [.string, .data, .strings, .links].contains(layout.kinds[place]) && !isNull
        }.map { place in
            let slot = layout.offsets[place]
            return (slot: slot, bytes: Array(record[number(slot)..<number(slot) + number(slot + 4)]))
        }
        record.removeSubrange(layout.fixedSize...)
        record += [UInt8](repeating: 0, count: gap)
        for part in isReversed ? parts.reversed() : parts {
            record.replaceSubrange(part.slot..<part.slot + 4, with: self.number(UInt32(record.count)))
            record += part.bytes
        }
    }

    /// The key of a date in an index over it alone.
    static func key(_ date: Date, _ id: UUID) -> [UInt8] {
        let bits = date.timeIntervalSinceReferenceDate.bitPattern
        let ordered = bits >> 63 == 1 ? ~bits : bits | 1 << 63
        return [1] + withUnsafeBytes(of: ordered.bigEndian) { Array($0) } + id.rawBytes
    }
}

extension [UInt8] {
    /// The index of the first occurrence of `bytes`.
    func place(of bytes: [UInt8]) -> Int? { indices.first { self[$0...].starts(with: bytes) } }

    /// A copy with the first occurrence of a text replaced.
    func replacing(_ text: String, with other: String) -> [UInt8] {
        guard let place = place(of: Array(text.utf8)) else { return self }
        return Array(self[..<place]) + Array(other.utf8) + Array(self[(place + text.utf8.count)...])
    }
}
