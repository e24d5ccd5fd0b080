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
