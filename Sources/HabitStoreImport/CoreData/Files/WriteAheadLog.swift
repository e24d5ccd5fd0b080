import Foundation

/// What is in a write-ahead log, by SQLite's file format, section 4: counted here, since SQLite tells nobody what it passes
/// over.
struct WriteAheadLog {
    /// What the log's header is.
    enum Header: Equatable {
        /// The file is empty.
        case empty
        /// There are fewer bytes than a header has.
        case truncated
        /// The header is none, or does not fit its checksum.
        case invalid
        /// The header is sound.
        case valid
    }

    /// Bytes of the header.
    static let headerSize = 32
    private static let frameHeaderSize = 24

    let header: Header
    private(set) var pageSize = 0
    /// Frames whose checksums follow one another from the header on.
    private(set) var validFrames = 0
    /// Those of them up to the last that ends a transaction: what SQLite reads.
    private(set) var committedFrames = 0
    /// The pages of the database behind the last transaction.
    private(set) var committedPageCount = 0
    /// Frames behind the valid ones that belong to the same log, and so are damaged.
    private(set) var damagedFrames = 0
    /// What tells this log from another at the same place.
    private(set) var salts = ""
    /// Where the last committed form of each page begins in the file, by the page's number.
    private(set) var pages: [UInt32: Int] = [:]

    /// Takes the bytes of a log apart.
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
        // A frame that is cut short was never finished, unless it belongs to this log and others were to follow it.
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
