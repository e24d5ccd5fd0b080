import Foundation

@_spi(Engines) @testable import HabitStore

/// Encodes records as `RecordLayout` describes them, without normalizing values: text in any Unicode form, `-0.0`, links that occur twice. The
/// checksum is right.
enum RawRecord {
    static func encode(_ values: [Value], _ layout: RecordLayout) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: layout.fixedSize)
        bytes[0] = RecordLayout.formatVersion
        set(UInt16(layout.attributeCount), at: 2, in: &bytes)
        for (position, value) in values.enumerated() {
            let slot = layout.offsets[position]
            switch value {
            case .null: bytes[RecordLayout.headerSize + position / 8] |= 1 << UInt8(position % 8)
            case .bool(let flag): bytes[slot] = flag ? 1 : 0
            case .int(let number): set(UInt64(bitPattern: number), at: slot, in: &bytes)
            case .double(let number): set(number.bitPattern, at: slot, in: &bytes)
            case .date(let date): set(date.timeIntervalSinceReferenceDate.bitPattern, at: slot, in: &bytes)
            case .uuid(let id): withUnsafeBytes(of: id.uuid) { bytes.replaceSubrange(slot..<slot + 16, with: $0) }
            case .string(let text): append(Array(text.utf8), slot, &bytes)
            case .data(let data): append(Array(data), slot, &bytes)
            case .strings(let texts):
                append(
                    texts.reduce(into: number(UInt32(texts.count))) {
                        $0 += number(UInt32($1.utf8.count)) + Array($1.utf8)
                    },
                    slot,
                    &bytes
                )
            case .links(let ids):
                append(ids.flatMap { id in withUnsafeBytes(of: id.uuid) { Array($0) } }, slot, &bytes)
            }
        }
        seal(&bytes)
        return bytes
    }

    /// Sets the checksum.
    static func seal(_ bytes: inout [UInt8]) {
        set(bytes.withUnsafeBytes { RecordChecksum.compute($0) }, at: 4, in: &bytes)
    }

    private static func append(_ contents: [UInt8], _ slot: Int, _ bytes: inout [UInt8]) {
        set(UInt32(bytes.count), at: slot, in: &bytes)
        set(UInt32(contents.count), at: slot + 4, in: &bytes)
        bytes += contents
    }

    /// A number in the format's byte order.
    static func number(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    private static func set(_ value: some FixedWidthInteger, at offset: Int, in bytes: inout [UInt8]) {
        let encoded = number(value)
        bytes.replaceSubrange(offset..<offset + encoded.count, with: encoded)
    }
}
