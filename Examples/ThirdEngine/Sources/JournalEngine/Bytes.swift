import Foundation
@_spi(Engines) import HabitStore

extension [UInt8] {
    mutating func append<T: FixedWidthInteger>(number: T) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    mutating func append(id: UUID) { Swift.withUnsafeBytes(of: id.uuid) { append(contentsOf: $0) } }

    mutating func append(counted bytes: [UInt8]) {
        append(number: UInt32(bytes.count))
        append(contentsOf: bytes)
    }

    mutating func append(text: String) { append(counted: Array(text.utf8)) }
}

/// Reads appended values, and never past the end.
struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func bytes(_ count: Int) throws -> ArraySlice<UInt8> {
        guard count >= 0, count <= rest.count else {
            throw HabitStoreError.damage("a commit ends before its changes do")
        }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func number<T: FixedWidthInteger>(as type: T.Type = T.self) throws -> T {
        let bytes = try bytes(MemoryLayout<T>.size)
        return T(littleEndian: bytes.withUnsafeBytes { $0.loadUnaligned(as: T.self) })
    }

    mutating func id() throws -> UUID {
        UUID(uuid: try bytes(16).withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
    }

    mutating func counted() throws -> ArraySlice<UInt8> { try bytes(Int(try number(as: UInt32.self))) }

    mutating func text() throws -> String {
        guard let text = String(validating: try counted(), as: UTF8.self) else {
            throw HabitStoreError.damage("a text in a commit is not UTF-8")
        }
        return text
    }
}

/// CRC-32C (Castagnoli), as in iSCSI and many file formats.
enum Checksum {
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 0 ? value >> 1 : (value >> 1) ^ 0x82F6_3B78 }
    }

    static func compute(_ parts: some Sequence<ArraySlice<UInt8>>) -> UInt32 {
        var value = UInt32.max
        for part in parts {
            part.withUnsafeBytes { bytes in
                for byte in bytes { value = table[Int((value ^ UInt32(byte)) & 0xFF)] ^ (value >> 8) }
            }
        }
        return ~value
    }
}
