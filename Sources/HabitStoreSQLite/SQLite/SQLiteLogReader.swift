import DurableFiles
import Foundation
import HabitStore

/// Reads a write-ahead log frame by frame, like SQLite's recovery (https://www.sqlite.org/fileformat.html, 4). Other processes may
/// write to it meanwhile; `WriteAheadLog` of HabitStoreImport maps a private copy instead.
///
/// SQLite has no locks on this file, so closing it drops none.
final class SQLiteLogReader {
    /// A frame whose checksum continues that of all frames before it.
    struct Frame {
        let page: UInt32
        /// Whether it ends a transaction.
        let isCommit: Bool
    }

    private static let headerLength = 32
    private static let frameHeaderLength = 24
    /// The number of bytes in a read.
    private static let blockBytes = 1 << 16

    /// The salts, which distinguish this log from others at the same path.
    let salts: (UInt32, UInt32)
    let pageSize: Int
    private let file: OpenFile
    private let path: String
    private let isBigEndian: Bool
    private var sums: (UInt32, UInt32)
    private var block: [UInt8]
    private var filled = 0
    private var position = 0
    /// The offset of the block in the file.
    private var blockOffset: off_t

    /// Opens a log; nil for one that SQLite would consider empty.
    init?(_ path: String) throws {
        guard let status = try SQLiteFiles.status(of: path), status.kind == .regular, status.sizeBytes > 0 else {
            return nil
        }
        do {
            file = try OpenFile(path, O_RDONLY | O_NOFOLLOW)
        } catch {
            // SQLite reports itself that the file cannot be read.
            guard error.number != ENOENT, error.number != EACCES, error.number != ELOOP else { return nil }
            throw SQLiteError.system(error.number, path: path, while: "opening the log")
        }
        self.path = path
        var header = [UInt8](repeating: 0, count: Self.headerLength)
        let count = try Self.read(file, path, &header, at: 0)
        let words = header.withUnsafeBytes { bytes in (0..<8).map { Self.word(bytes, $0 * 4) } }
        let (size, isBigEndian) = (Int(words[2]), words[0] & 1 == 1)
        guard count == Self.headerLength, words[0] & ~1 == 0x377F_0682, words[1] == 3_007_000,
            size >= 512, size <= 65_536, size & (size - 1) == 0
        else { return nil }
        sums = header.withUnsafeBytes { Self.sum(UnsafeRawBufferPointer(rebasing: $0[..<24]), (0, 0), isBigEndian) }
        guard sums == (words[6], words[7]) else { return nil }
        self.isBigEndian = isBigEndian
        pageSize = size
        salts = (words[4], words[5])
        let frameLength = Self.frameHeaderLength + size
        block = [UInt8](repeating: 0, count: max(1, Self.blockBytes / frameLength) * frameLength)
        blockOffset = off_t(Self.headerLength)
    }

    /// Passes the next frame and its page to `body`; nil at the end of what SQLite would read.
    func next<R>(_ body: (Frame, UnsafeRawBufferPointer) -> R) throws -> R? {
        let frameLength = Self.frameHeaderLength + pageSize
        if position + frameLength > filled {
            blockOffset += off_t(position)
            filled = try Self.read(file, path, &block, at: blockOffset)
            position = 0
            guard filled >= frameLength else { return nil }
        }
        return block.withUnsafeBytes { bytes in
            let header = UnsafeRawBufferPointer(rebasing: bytes[position..<(position + Self.frameHeaderLength)])
            let frame = Frame(page: Self.word(header, 0), isCommit: Self.word(header, 4) != 0)
            guard frame.page != 0, Self.word(header, 8) == salts.0, Self.word(header, 12) == salts.1 else { return nil }
            let start = position + Self.frameHeaderLength
            let page = UnsafeRawBufferPointer(rebasing: bytes[start..<(start + pageSize)])
            let sumsBefore = Self.sum(UnsafeRawBufferPointer(rebasing: header[..<8]), sums, isBigEndian)
            sums = Self.sum(page, sumsBefore, isBigEndian)
            guard sums == (Self.word(header, 16), Self.word(header, 20)) else { return nil }
            position += frameLength
            return body(frame, page)
        }
    }

    /// Adds bytes to the two running checksums of a log.
    private static func sum(
        _ bytes: UnsafeRawBufferPointer,
        _ sums: (UInt32, UInt32),
        _ isBigEndian: Bool
    ) -> (UInt32, UInt32) {
        var (first, second) = sums
        var position = 0
        while position + 8 <= bytes.count {
            let left = bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)
            let right = bytes.loadUnaligned(fromByteOffset: position + 4, as: UInt32.self)
            first = first &+ (isBigEndian ? UInt32(bigEndian: left) : UInt32(littleEndian: left)) &+ second
            second = second &+ (isBigEndian ? UInt32(bigEndian: right) : UInt32(littleEndian: right)) &+ first
            position += 8
        }
        return (first, second)
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    private static func read(
        _ file: borrowing OpenFile,
        _ path: String,
        _ bytes: inout [UInt8],
        at position: off_t
    ) throws -> Int {
        let count = bytes.withUnsafeMutableBytes { OpenFile.read(file.descriptor, into: $0, at: position) }
        guard count >= 0 else { throw SQLiteError.system(errno, path: path, while: "reading the log") }
        return count
    }
}
