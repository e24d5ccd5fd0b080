import Foundation
@_spi(Engines) import HabitStore

extension EvidenceLog {
    /// How much may lie behind the last checkpoint before there is another.
    static let checkpointEveryBytes = 65_536

    /// What the evidence comes to, from the last checkpoint on.
    ///
    /// - Parameter anchor: what the stores remember of it. Where neither the lines behind the checkpoint nor the checkpoint
    ///   know it, everything is read, archives included.
    /// - Throws: what the system refuses. A damaged file is no error: the summary says so.
    public func summary(anchor: EvidenceHead? = nil) throws -> EvidenceSummary {
        try summary(EvidenceTrust(anchor: anchor, seal: seal))
    }

    /// What the evidence comes to, from the last checkpoint on that counts.
    ///
    /// - Throws: what the system refuses. A damaged file is no error: the summary says so.
    func summary(_ trust: EvidenceTrust) throws -> EvidenceSummary {
        guard let file = try open() else { return EvidenceSummary(trust, start: 0, identity: nil) }
        var summary = try summary(file, trust, below: try file.size())
        // Another process's checkpoint may just have come between: the one before it knows.
        if !summary.containsAnchor, summary.start > 0 {
            summary = try self.summary(file, trust, below: summary.start)
        }
        if !summary.containsAnchor, summary.start > 0 {
            summary = EvidenceSummary(trust, start: 0, identity: try file.identity())
            try summary.read(file)
        }
        if !summary.containsAnchor, let anchor = trust.anchor, let before = summary.before,
            try archives(before).contains(anchor)
        {
            summary.noteAnchor()
        }
        return summary
    }

    /// Whether the log has come by what the stores remember of it, archives included, as far as it can be believed. It has not
    /// when it was cut off before it, or when it is another one.
    ///
    /// - Throws: what the system refuses.
    public func contains(_ anchor: EvidenceHead?) throws -> Bool {
        try trace(anchor: anchor)?.containsAnchor ?? (anchor == nil || anchor == .start)
    }

    /// How far the log says that its user has come. Nobody's lock is waited for.
    ///
    /// - Parameter anchor: what the stores remember of it.
    /// - Throws: what the system refuses.
    func trace(anchor: EvidenceHead?) throws -> EvidenceTrace? {
        guard let file = try open(.look) else { return nil }
        var trace = try EvidenceTrace(file, anchor: anchor)
        if !trace.containsAnchor, let anchor, let before = trace.before, try archives(before).contains(anchor) {
            trace.noteAnchor()
        }
        return trace
    }

    /// Writes a checkpoint behind what a summary has read and what was added since, if one is due and the chain is whole.
    ///
    /// - Returns: the checkpoint's line; nil where none was written.
    @discardableResult
    func checkpoint(after summary: EvidenceSummary, at time: Date) throws -> EvidenceStretch? {
        guard summary.isCheckpointDue else { return nil }
        let file = try EvidenceFile(path, .append)
        guard try file.identity() == summary.identity else { return nil }
        let known = summary.length
        var summary = summary
        try summary.read(file)
        // Somebody may have written one meanwhile.
        guard try file.lastCheckpoint(below: summary.length, from: known, summary.trust) == nil,
            let state = summary.checkpoint
        else { return nil }
        let content = try EvidenceLine.content(.checkpoint(state), at: time)
        let line = try EvidenceLine.make(content, after: summary.head, seal: seal)
        try file.write(line.bytes, at: summary.length)
        CrashPoint.reach("evidence.checkpointed")
        return EvidenceStretch(before: summary.head, last: line.head)
    }

    /// The line of a checkpoint, where an append should write one before its own: where enough lies behind the last one, and
    /// little enough to be verified meanwhile. What an earlier version left is seen to by ``checkpoint(after:at:)``.
    ///
    /// - Parameter bytes: how many are to be added; of a damaged log not each append has to find that anew.
    func dueCheckpoint(
        _ file: borrowing EvidenceFile,
        _ tail: EvidenceFile.Tail,
        adding bytes: Int,
        _ time: Date,
        _ trust: () -> EvidenceTrust?
    ) throws -> (bytes: [UInt8], head: EvidenceHead)? {
        guard tail.length > Self.checkpointEveryBytes, !tail.lacksNewline,
            tail.length / Self.attemptEveryBytes != (tail.length + bytes) / Self.attemptEveryBytes
        else { return nil }
        let lowest = max(0, tail.length - Self.maximumCatchUpBytes)
        guard let trust = trust(),
            let start = try file.lastCheckpoint(below: tail.length, from: lowest, trust) ?? (lowest == 0 ? 0 : nil),
            tail.length - start > Self.checkpointEveryBytes
        else { return nil }
        var summary = EvidenceSummary(trust, start: start, identity: try file.identity())
        try summary.read(file)
        guard summary.head == tail.head, let state = summary.checkpoint else { return nil }
        let content = try EvidenceLine.content(.checkpoint(state), at: time)
        return try EvidenceLine.make(content, after: summary.head, seal: seal)
    }

    private static let attemptEveryBytes = 16_384
    private static let maximumCatchUpBytes = 1_048_576

    private func summary(
        _ file: borrowing EvidenceFile,
        _ trust: EvidenceTrust,
        below size: Int
    ) throws -> EvidenceSummary {
        let start = try file.lastCheckpoint(below: size, trust) ?? 0
        var summary = EvidenceSummary(trust, start: start, identity: try file.identity())
        try summary.read(file)
        if summary.damage != nil, start > 0 { summary.linesBefore = try file.countLines(start) }
        return summary
    }
}
