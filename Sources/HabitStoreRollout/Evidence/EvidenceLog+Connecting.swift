import HabitStore

extension EvidenceLog {
    /// Whether two heads lie in one chain that is intact between them. Decodes as few lines as possible.
    ///
    /// - Parameter known: the stores' anchor of the log; nil connects with nothing.
    /// - Throws: system errors.
    func connects(_ known: EvidenceHead?, _ head: EvidenceHead) throws -> Bool {
        guard let known, let file = try open(.look) else { return false }
        if known.sequence == head.sequence { return known == head }
        let (low, high) = known.sequence < head.sequence ? (known, head) : (head, known)
        let size = try file.size()
        guard low != .start else { return try file.leads(from: 0, after: .start, to: high, size) }
        if let place = try file.place(of: low, below: size) {
            return try file.leads(from: place, after: nil, to: high, size)
        }
        // The anchor was archived since.
        guard size > 0, let first = try? file.record(at: 0, size), case .checkpoint = first.event else { return false }
        let before = EvidenceHead(sequence: first.sequence - 1, hash: first.previous)
        guard try archives(before).contains(low) else { return false }
        return try file.leads(from: 0, after: before, to: high, size)
    }
}

extension EvidenceFile {
    /// The start of the line with this head; nil if there is none.
    fileprivate func place(of head: EvidenceHead, below size: Int) throws -> Int? {
        var found: Int?
        let hash = Array(head.hash.utf8)
        try forEachPlace(below: size) {
            EvidenceLine.lines(in: $0, beginsLine: $1, withHash: hash)
        } _: { place in
            if let record = try? record(at: place, size), record.head == head { found = place }
            return found == nil
        }
        return found
    }

    /// Whether the lines from `start` on follow each other up to the line `high`.
    ///
    /// - Parameter before: the head that the first one has to follow; nil for any.
    fileprivate func leads(from start: Int, after before: EvidenceHead?, to high: EvidenceHead, _ size: Int) throws
        -> Bool
    {
        var due = before
        var isWhole = true
        var isThere = false
        try forEachPart(start..<size) { part, _ in
            guard isWhole, !isThere, case .line(let bytes) = part else { return }
            guard let (head, previous) = EvidenceLine.place(bytes) else {
                isWhole = false
                return
            }
            if let due { isWhole = previous == due.hash && head.sequence == due.sequence.addingSaturated(1) }
            due = head
            isThere = isWhole && head == high
        }
        return isThere
    }
}

extension EvidenceLine {
    /// The head of a line whose own hash is right, and the hash of the line before it.
    static func place(_ line: UnsafeRawBufferPointer) -> (head: EvidenceHead, previous: String)? {
        if let skimmed = skim(line) { return (skimmed.head, skimmed.previous) }
        guard let record = try? parse(line) else { return nil }
        return (record.head, record.previous)
    }
}
