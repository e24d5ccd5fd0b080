extension EvidenceFile {
    /// The end of a file, where an append continues.
    struct Tail {
        /// The number of bytes to keep; a crash left those after them.
        let length: Int
        /// Whether the last byte should be a newline but is not.
        let lacksNewline: Bool
        /// The head that the next record follows. After a damaged line: the hash of its bytes (of the last ones, for a very long line), and its
        /// number in the file.
        let head: EvidenceHead
    }

    func tail() throws -> Tail {
        let size = try size()
        // Room for a whole line, and a torn one after it.
        let start = max(0, size - 2 * EvidenceLog.maximumLineBytes)
        var bytes = try read(start..<size)
        var lacksNewline = false
        if let last = bytes.last, last != EvidenceLine.newline {
            let rest = bytes.lastIndex(of: EvidenceLine.newline).map { $0 + 1 } ?? 0
            if bytes[rest...].withUnsafeBytes(EvidenceLine.isTorn) {
                bytes.removeSubrange(rest...)
            } else {
                lacksNewline = true
                bytes.append(EvidenceLine.newline)
            }
        }
        let length = start + bytes.count - (lacksNewline ? 1 : 0)
        guard !bytes.isEmpty else { return Tail(length: 0, lacksNewline: false, head: .start) }
        let line = bytes.dropLast().lastIndex(of: EvidenceLine.newline).map { $0 + 1 } ?? 0
        let head = try bytes[line...].withUnsafeBytes { bytes in
            if let record = try? EvidenceLine.parse(bytes) { return record.head }
            let hash = EvidenceLine.text(EvidenceLine.hash(of: bytes))
            return EvidenceHead(sequence: try countLines(length) + (lacksNewline ? 1 : 0), hash: hash)
        }
        return Tail(length: length, lacksNewline: lacksNewline, head: head)
    }

    /// The number of lines that end in the first `length` bytes.
    func countLines(_ length: Int) throws -> Int {
        var count = 0
        for start in stride(from: 0, to: length, by: 1_048_576) {
            count += try read(start..<min(start + 1_048_576, length)).count { $0 == EvidenceLine.newline }
        }
        return count
    }
}
