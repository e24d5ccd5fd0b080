import Foundation
import HabitStore

/// The header of a journal:
///
/// ```
/// bytes 0–7    "HSJOURNL"
/// bytes 8–11   format version, u32: 1
/// bytes 12–15  0
/// bytes 16–31  salt: random, of this file
/// ```
struct JournalHeader {
    static let magic = Data("HSJOURNL".utf8)
    static let size = 32
    private static let version: UInt32 = 1

    /// Part of every checksum, so that no record can contain bytes that pass for a frame of this file.
    let salt: ArraySlice<UInt8>

    /// The bytes of a new journal.
    static func new() -> [UInt8] {
        var bytes = Array(magic)
        bytes.append(number: version)
        bytes.append(number: UInt32(0))
        bytes.append(id: UUID())
        return bytes
    }

    /// Reads the first bytes of a file.
    ///
    /// - Throws: `notAStore` if it is not a journal, `newerVersion` if its version is later.
    init(_ bytes: [UInt8], path: String) throws {
        guard bytes.count >= Self.size, bytes.starts(with: Self.magic) else {
            throw HabitStoreError(.notAStore, "the file is not a journal", at: .init(path: path))
        }
        var reader = ByteReader(bytes[8..<12])
        let version: UInt32 = try reader.number()
        guard version == Self.version else {
            throw HabitStoreError(
                .newerVersion,
                "the journal has format version \(version); this version reads \(Self.version)",
                at: .init(path: path)
            )
        }
        salt = bytes[16..<32]
    }
}

/// A commit in the file:
///
/// ```
/// bytes 0–3   checksum, u32: CRC-32C over the file's salt and everything behind this number
/// bytes 4–7   length of the changes, u32
/// bytes 8–15  number of the commit, u64; the first is 1
/// then        the changes
/// ```
struct JournalFrame {
    static let headerSize = 16
    private static let mostBytes = 1 << 30

    /// The number of the commit.
    let number: UInt64
    /// The encoded changes.
    let changes: ArraySlice<UInt8>
    /// The bytes of the whole frame.
    var size: Int { Self.headerSize + changes.count }

    /// Encodes a commit.
    ///
    /// - Throws: `limitExceeded` for more than a gigabyte.
    static func encode(_ number: UInt64, _ changes: [UInt8], salt: ArraySlice<UInt8>) throws -> [UInt8] {
        guard changes.count <= mostBytes else {
            throw HabitStoreError(.limitExceeded, "a transaction writes more than a gigabyte; write it in several")
        }
        var body: [UInt8] = []
        body.append(number: UInt32(changes.count))
        body.append(number: number)
        body.append(contentsOf: changes)
        var frame: [UInt8] = []
        frame.append(number: Checksum.compute([salt, body[...]]))
        frame.append(contentsOf: body)
        return frame
    }

    /// The frame at a place; nil if there is no complete, valid one.
    init?(_ bytes: [UInt8], at place: Int, salt: ArraySlice<UInt8>) {
        guard place + Self.headerSize <= bytes.count else { return nil }
        let header = bytes[place..<place + Self.headerSize].withUnsafeBytes { header in
            (
                checksum: UInt32(littleEndian: header.loadUnaligned(as: UInt32.self)),
                count: Int(UInt32(littleEndian: header.loadUnaligned(fromByteOffset: 4, as: UInt32.self))),
                number: UInt64(littleEndian: header.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
        let start = place + Self.headerSize
        guard header.count <= bytes.count - start else { return nil }
        guard Checksum.compute([salt, bytes[place + 4..<start + header.count]]) == header.checksum else { return nil }
        number = header.number
        changes = bytes[start..<start + header.count]
    }

    /// Whether a commit later than `number` begins somewhere after a place: then the bytes before it were once written completely and are damaged,
    /// and are
    /// not the torn end of a commit that was never acknowledged.
    static func isFollowed(_ bytes: [UInt8], after place: Int, number: UInt64, salt: ArraySlice<UInt8>) -> Bool {
        guard place + 1 + headerSize <= bytes.count else { return false }
        return (place + 1...bytes.count - headerSize).contains { start in
            let later = bytes[start + 8..<start + 16].withUnsafeBytes {
                UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self))
            }
            guard later > number, later - number <= UInt64(bytes.count) else { return false }
            return JournalFrame(bytes, at: start, salt: salt) != nil
        }
    }
}
