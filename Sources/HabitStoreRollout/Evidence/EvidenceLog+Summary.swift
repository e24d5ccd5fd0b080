import Foundation
import HabitStore

extension EvidenceLog {
    /// How much may lie behind the last checkpoint before there is another.
    static let checkpointEveryBytes = 65_536

    /// What the evidence comes to, from the last checkpoint on.
    ///
    /// - Parameter anchor: what the stores remember of it. Where neither the lines behind the checkpoint nor the checkpoint
    ///   know it, everything is read, archives included.
    /// - Throws: what the system refuses. A damaged file is no error: the summary says so.
    public func summary(anchor: EvidenceHead? = nil) throws -> EvidenceSummary {
        guard let file = try open() else { return EvidenceSummary(anchor: anchor) }
        var summary = try summary(file, anchor: anchor)
        if !summary.containsAnchor, summary.start > 0 {
            summary = EvidenceSummary(anchor: anchor, start: 0, identity: try file.identity())
            try summary.read(file)
        }
        if !summary.containsAnchor, let anchor, let before = summary.before, try archives(before).contains(anchor) {
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
    /// - Returns: whether one was written.
    @discardableResult
    func checkpoint(after summary: EvidenceSummary, at time: Date) throws -> Bool {
        guard summary.isCheckpointDue else { return false }
        let file = try EvidenceFile(path, .append)
        guard try file.identity() == summary.identity else { return false }
        let known = summary.length
        var summary = summary
        try summary.read(file)
        // Somebody may have written one meanwhile.
        guard try file.lastCheckpoint(below: summary.length, from: known) == nil, let state = summary.checkpoint else {
            return false
        }
        let line = try EvidenceLine.make(EvidenceLine.content(.checkpoint(state), at: time), after: summary.head)
        try file.write(line.bytes, at: summary.length)
        CrashPoint.reach("evidence.checkpointed")
        return true
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
        _ anchor: EvidenceHead?
    ) throws -> (bytes: [UInt8], head: EvidenceHead)? {
        guard tail.length > Self.checkpointEveryBytes, !tail.lacksNewline,
            tail.length / Self.attemptEveryBytes != (tail.length + bytes) / Self.attemptEveryBytes
        else { return nil }
        let lowest = max(0, tail.length - Self.maximumCatchUpBytes)
        guard let start = try file.lastCheckpoint(below: tail.length, from: lowest) ?? (lowest == 0 ? 0 : nil),
            tail.length - start > Self.checkpointEveryBytes
        else { return nil }
        var summary = EvidenceSummary(anchor: anchor, start: start, identity: try file.identity())
        try summary.read(file)
        guard summary.head == tail.head, let state = summary.checkpoint else { return nil }
        return try EvidenceLine.make(EvidenceLine.content(.checkpoint(state), at: time), after: summary.head)
    }

    private static let attemptEveryBytes = 16_384
    private static let maximumCatchUpBytes = 1_048_576

    private func summary(_ file: borrowing EvidenceFile, anchor: EvidenceHead?) throws -> EvidenceSummary {
        let start = try file.lastCheckpoint(below: try file.size()) ?? 0
        var summary = EvidenceSummary(anchor: anchor, start: start, identity: try file.identity())
        try summary.read(file)
        if summary.damage != nil, start > 0 { summary.linesBefore = try file.countLines(start) }
        return summary
    }
}
