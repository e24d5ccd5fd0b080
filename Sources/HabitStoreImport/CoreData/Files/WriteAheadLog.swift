import Foundation

/// The contents of a write-ahead log (SQLite's file format, section 4), counted here because SQLite does not report the frames it ignores.
struct WriteAheadLog {
    /// The state of the log's header.
    enum Header: Equatable {
        case empty
        /// The file is shorter than a header.
        case truncated
        /// The header is malformed or does not match its checksum.
        case invalid
        case valid
    }

    static let headerSize = 32
    private static let frameHeaderSize = 24

    let header: Header
    private(set) var pageSize = 0
    /// The number of frames whose checksums form an unbroken chain from the header.
    private(set) var validFrames = 0
    /// The number of valid frames up to the last commit, which are those that SQLite reads.
    private(set) var committedFrames = 0
    /// The database's page count after the last committed transaction.
    private(set) var committedPageCount = 0
    /// Frames after the valid ones that belong to the same log, and are therefore damaged.
    private(set) var damagedFrames = 0
    /// Identifies this log among those written to the same path.
    private(set) var salts = ""
    /// The offset of each page's last committed version, by page number.
    private(set) var pages: [UInt32: Int] = [:]

    /// Parses the bytes of a log.
    init(_ data: Data) {
        guard !data.isEmpty else {
            header = .empty
            return
        }
        guard data.count >= Self.headerSize else {
            header = .truncated
            return
        }
        let reader = LogReader(data)
        let size = Int(reader.word(8))
        guard let state = reader.checkedHeader(), size >= 512, size <= 65_536, size & (size - 1) == 0 else {
            header = .invalid
            return
        }
        header = .valid
        pageSize = size
        salts = "\(reader.word(16)) \(reader.word(20))"
        readFrames(reader, state)
    }

    private mutating func readFrames(_ reader: LogReader, _ start: LogChecksum) {
        var checksum = start
        var pending: [UInt32: Int] = [:]
        var offset = Self.headerSize
        let frame = Self.frameHeaderSize + pageSize
        while offset + frame <= reader.count {
            guard reader.hasSalts(of: offset) else { return }
            var next = checksum
            reader.add(offset, 8, &next)
            reader.add(offset + Self.frameHeaderSize, pageSize, &next)
            guard next.first == reader.word(offset + 16), next.second == reader.word(offset + 20) else {
                countDamaged(reader, from: offset, frame)
                return
            }
            checksum = next
            validFrames += 1
            pending[reader.word(offset)] = offset + Self.frameHeaderSize
            if reader.word(offset + 4) != 0 {
                committedFrames = validFrames
                committedPageCount = Int(reader.word(offset + 4))
                pages.merge(pending) { $1 }
                pending = [:]
            }
            offset += frame
        }
        // A truncated frame was never completed, unless it has this log's salts.
        if offset + Self.frameHeaderSize <= reader.count, reader.hasSalts(of: offset) { damagedFrames += 1 }
    }

    private mutating func countDamaged(_ reader: LogReader, from start: Int, _ frame: Int) {
        var offset = start
        while offset + Self.frameHeaderSize <= reader.count {
            if reader.hasSalts(of: offset) { damagedFrames += 1 }
            offset += frame
        }
    }
}

/// The two running checksums of a write-ahead log.
struct LogChecksum {
    var first: UInt32
    var second: UInt32
}

/// Reads numbers from a mapped write-ahead log and computes its checksums.
struct LogReader {
    private let bytes: Data
    private let isBigEndian: Bool

    init(_ data: Data) {
        bytes = data
        isBigEndian = data.count > 3 && data[data.startIndex + 3] & 1 == 1
    }

    /// The length of the log in bytes.
    var count: Int { bytes.count }

    /// A big-endian number.
    func word(_ offset: Int) -> UInt32 {
        bytes.withUnsafeBytes { UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
    }

    /// The checksum of the header; nil if the header is invalid or the stored checksum differs.
    func checkedHeader() -> LogChecksum? {
        guard word(0) & ~1 == 0x377f_0682, word(4) == 3_007_000 else { return nil }
        var sum = LogChecksum(first: 0, second: 0)
        add(0, 24, &sum)
        return sum.first == word(24) && sum.second == word(28) ? sum : nil
    }

    /// Whether a frame was written since the log last started over.
    func hasSalts(of frame: Int) -> Bool { word(frame + 8) == word(16) && word(frame + 12) == word(20) }

    /// Adds bytes, a multiple of 8, to the checksum.
    func add(_ offset: Int, _ count: Int, _ sum: inout LogChecksum) {
        bytes.withUnsafeBytes { bytes in
            var (first, second) = (sum.first, sum.second)
            var position = offset
            while position < offset + count {
                let left = bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)
                let right = bytes.loadUnaligned(fromByteOffset: position + 4, as: UInt32.self)
                first = first &+ (isBigEndian ? UInt32(bigEndian: left) : UInt32(littleEndian: left)) &+ second
                second = second &+ (isBigEndian ? UInt32(bigEndian: right) : UInt32(littleEndian: right)) &+ first
                position += 8
            }
            sum = LogChecksum(first: first, second: second)
        }
    }
}

/// The numbers in a Core Data file that only ever grow: each entity's highest key and the last history transaction.
struct GrowingNumbers {
    private var numbers: [String: Int64] = [:]

    /// Reads the numbers; an unreadable file has none.
    init(_ connection: SourceConnection?) {
        guard let connection else { return }
        if let statement = try? connection.prepare("SELECT Z_NAME, Z_MAX FROM Z_PRIMARYKEY") {
            while (try? statement.step()) == true {
                numbers["highest key of \(statement.text(0) ?? "")"] = statement.optionalInt(1) ?? 0
            }
        }
        if let last = try? connection.int("SELECT max(Z_PK) FROM ATRANSACTION") { numbers["last transaction"] = last }
    }

    /// The name of a number that is greater here than in `other`.
    func firstGreater(than other: GrowingNumbers) -> String? {
        numbers.keys.sorted().first { name in
            guard let there = other.numbers[name], let here = numbers[name] else { return false }
            return here > there
        }
    }
}
