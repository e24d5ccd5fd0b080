import Foundation
@_spi(Engines) import HabitStore

extension EvidenceLog {
    /// An archived part of the evidence.
    public struct Archived: Sendable, Hashable, Codable {
        /// The archive's name in the user's folder.
        public let file: String
        /// The first record in it.
        public let first: Int
        /// The last record in it.
        public let last: Int
        /// How many bytes the log shrank by.
        public let sizeBytes: Int
    }

    /// Moves the lines before the last checkpoint to a separate file, so that the log begins with the checkpoint. Writes a checkpoint first if one is
    /// due. A kill at any moment loses no record: it is in one of the files, or in both.
    ///
    /// - Parameter anchor: the stores' anchor of the evidence.
    /// - Returns: nil if there are no lines before a checkpoint.
    /// - Throws: ``HabitStoreError/Code/corrupt`` for evidence that is damaged or incomplete, and system errors.
    public func archive(anchor: EvidenceHead?, at time: Date) throws -> Archived? {
        try archive(EvidenceTrust(anchor: anchor, seal: seal), at: time)
    }

    func archive(_ trust: EvidenceTrust, at time: Date) throws -> Archived? {
        let summary = try summary(trust)
        guard summary.damage == nil, summary.containsAnchor else { throw notWhole(summary.damage) }
        if trust.vouched == nil { try checkpoint(after: summary, at: time) }
        let file = try EvidenceFile(path, .append)
        // A checkpoint that does not count would hide what was proven before it.
        guard let length = try file.lastCheckpoint(below: try file.size(), trust), length > 0 else { return nil }
        // Most readers never read the lines before the checkpoint again, so this checks them all.
        var whole = EvidenceSummary(trust, start: 0, identity: nil)
        try whole.read(file)
        guard whole.damage == nil else { throw notWhole(whole.damage) }
        let first = (whole.before?.sequence ?? whole.firstSequence - 1) + 1
        let last = try file.record(at: length, try file.size()).sequence - 1
        let name = EvidenceArchives.name(first, last)
        try file.archive(length, as: name)
        return Archived(file: name, first: first, last: last, sizeBytes: length)
    }

    func archives(_ before: EvidenceHead) -> EvidenceArchives { EvidenceArchives(log: self, before: before) }

    private func notWhole(_ damage: EvidenceChain.Damage?) -> HabitStoreError {
        HabitStoreError(
            .corrupt,
            (damage.map { "the evidence is damaged in line \($0.line) (\($0.reason))" }
                ?? "the evidence lacks what the stores remember of it")
                + " and is not archived: `\(OperatorCommand.name) rollout evidence --user U` shows it",
            at: .init(path: path)
        )
    }
}
