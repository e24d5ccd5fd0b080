import Foundation
@_spi(Engines) import HabitStore

extension EvidenceLog {
    /// How many bytes may follow the last checkpoint before another one is due.
    static let checkpointEveryBytes = 65_536

    /// The summary of the evidence, from the last checkpoint on.
    ///
    /// - Parameter anchor: the stores' anchor. If neither the checkpoint nor the lines after it contain it, everything is read, archives included.
    /// - Throws: system errors. A damaged file does not throw: the summary reports it.
    public func summary(anchor: EvidenceHead? = nil) throws -> EvidenceSummary {
        try summary(EvidenceTrust(anchor: anchor, seal: seal))
    }

    /// The summary of the evidence, from the last checkpoint on that counts.
    ///
    /// - Throws: system errors. A damaged file does not throw: the summary reports it.
    func summary(_ trust: EvidenceTrust) throws -> EvidenceSummary {
        guard let file = try open() else { return EvidenceSummary(trust, start: 0, identity: nil) }
        var summary = try summary(file, trust, below: try file.size())
        // Another process may just have written a checkpoint; the one before it knows the anchor.
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

    /// Whether the log, archives included, contains the stores' anchor, as far as it can be trusted. False if it was cut off before it, or is another
    /// log.
    ///
    /// - Throws: system errors.
    public func contains(_ anchor: EvidenceHead?) throws -> Bool {
        try trace(anchor: anchor)?.containsAnchor ?? (anchor == nil || anchor == .start)
    }

    /// How far the user has come according to the log. Waits for no lock.
    ///
    /// - Parameter anchor: the stores' anchor.
    /// - Throws: system errors.
    func trace(anchor: EvidenceHead?) throws -> EvidenceTrace? {
        guard let file = try open(.look) else { return nil }
        var trace = try EvidenceTrace(file, anchor: anchor)
        if !trace.containsAnchor, let anchor, let before = trace.before, try archives(before).contains(anchor) {
            trace.noteAnchor()
        }
        return trace
    }

    /// Writes a checkpoint after the lines of a summary and those added since, if one is due and the chain is intact.
    ///
    /// - Returns: the checkpoint's line; nil if none was written.
    @discardableResult
    func checkpoint(after summary: EvidenceSummary, at time: Date) throws -> EvidenceStretch? {
        guard summary.isCheckpointDue else { return nil }
        let file = try EvidenceFile(path, .append)
        guard try file.identity() == summary.identity else { return nil }
        let known = summary.length
        var summary = summary
        try summary.read(file)
        // Another process may have written one meanwhile.
        guard try file.lastCheckpoint(below: summary.length, from: known, summary.trust) == nil,
            let state = summary.checkpoint
        else { return nil }
        let content = try EvidenceLine.content(.checkpoint(state), at: time)
        let line = try EvidenceLine.make(content, after: summary.head, seal: seal)
        try file.write(line.bytes, at: summary.length)
        CrashPoint.reach("evidence.checkpointed")
        return EvidenceStretch(before: summary.head, last: line.head)
    }

    /// The line of a checkpoint that an append should write before its own: if enough lies after the last checkpoint, and little enough to verify
    /// during the append. ``checkpoint(after:at:)`` handles the long logs of earlier versions.
    ///
    /// - Parameter bytes: how many bytes will be added, so that not every append to a damaged log has to detect the damage again.
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
