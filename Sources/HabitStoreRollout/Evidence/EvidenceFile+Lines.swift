import Foundation

extension EvidenceFile {
    enum Part {
        /// A line with its newline.
        case line(UnsafeRawBufferPointer)
        /// A line, newline included, that exceeds the limit.
        case overlong
        /// The bytes at the end without a newline, no longer than a line.
        case rest(UnsafeRawBufferPointer)
    }

    private static let blockBytes = 1_048_576

    /// Passes on the lines of a range, read in blocks, so that memory does not grow with the file.
    ///
    /// - Parameter body: receives each part, and its length in the file in bytes.
    func forEachPart(_ range: Range<Int>, _ body: (Part, _ length: Int) throws -> Void) throws {
        var kept: [UInt8] = []
        /// The number of bytes dropped of an overlong line.
        var dropped = 0
        for start in stride(from: range.lowerBound, to: range.upperBound, by: Self.blockBytes) {
            kept += try read(start..<min(start + Self.blockBytes, range.upperBound))
            var done = 0
            try kept.withUnsafeBytes { bytes in
                while let length = EvidenceLine.length(UnsafeRawBufferPointer(rebasing: bytes[done...])) {
                    if dropped + length > EvidenceLog.maximumLineBytes {
                        try body(.overlong, dropped + length)
                    } else {
                        try body(.line(UnsafeRawBufferPointer(rebasing: bytes[done..<done + length])), length)
                    }
                    dropped = 0
                    done += length
                }
            }
            kept.removeSubrange(..<done)
            if kept.count > EvidenceLog.maximumLineBytes {
                dropped += kept.count
                kept = []
            }
        }
        if dropped > 0 {
            try body(.overlong, dropped + kept.count)
        } else if !kept.isEmpty {
            try kept.withUnsafeBytes { try body(.rest($0), kept.count) }
        }
    }

    /// The start of the last intact checkpoint that counts; nil if there is none.
    ///
    /// - Parameter lowest: where to stop: the start of a line; otherwise the next line is the first one considered.
    func lastCheckpoint(below size: Int, from lowest: Int = 0, _ trust: EvidenceTrust) throws -> Int? {
        var found: Int?
        try forEachPlace(below: size, from: lowest, EvidenceLine.checkpoints) { place in
            if try isCheckpoint(at: place, size, trust) { found = place }
            return found == nil
        }
        return found
    }

    /// Passes on the places of lines found by their beginning, the last one first, until `body` returns false.
    ///
    /// - Parameter find: the places in the bytes at which such lines start, the last one first; it receives whether a line begins with the first
    ///   byte.
    func forEachPlace(
        below size: Int,
        from lowest: Int = 0,
        _ find: (_ bytes: [UInt8], _ beginsLine: Bool) -> [Int],
        _ body: (Int) throws -> Bool
    ) throws {
        var end = size
        while end > lowest {
            let start = max(lowest, end - EvidenceLog.checkpointEveryBytes)
            // A line that crosses the border of two blocks is found in the earlier one; one that begins at the border, by the newline before it.
            let first = max(lowest, start - 1)
            let bytes = try read(first..<min(size, end + EvidenceLine.lengthBeforeEvent))
            for line in find(bytes, first == lowest) where line + first < end {
                guard try body(first + line) else { return }
            }
            end = start
        }
    }

    /// The record whose line begins at `start`.
    ///
    /// - Throws: `EvidenceLine.Fault` if there is none.
    func record(at start: Int, _ size: Int) throws -> EvidenceRecord {
        try line(at: start, size) { try EvidenceLine.parse($0) }
    }

    private func line<R>(at start: Int, _ size: Int, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
        let bytes = try read(start..<min(size, start + EvidenceLog.maximumLineBytes))
        return try bytes.withUnsafeBytes { bytes in
            try body(UnsafeRawBufferPointer(rebasing: bytes[..<(EvidenceLine.length(bytes) ?? 0)]))
        }
    }

    private func isCheckpoint(at start: Int, _ size: Int, _ trust: EvidenceTrust) throws -> Bool {
        do {
            return try line(at: start, size) { bytes in
                let record = try EvidenceLine.parse(bytes)
                guard case .checkpoint = record.event else { return false }
                return trust.doubt(record.sequence, bytes) == nil
            }
        } catch is EvidenceLine.Fault {
            return false
        }
    }
}
