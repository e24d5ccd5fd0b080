import Foundation
import HabitStore

/// What became of evidence that was begun anew.
public struct EvidenceReset: Sendable, Hashable, Codable {
    /// The stage that the user was at.
    public let from: Stage
    /// The name under which the old file is kept in the user's folder; nil when there was none.
    public let file: String?
}

extension UserStore {
    /// Begins the user's evidence anew, where it was lost or damaged: that keeps the gate closed for ever otherwise.
    ///
    /// Nothing is proven any more, so the user is taken to `off` first, as ``demote(to:)`` does it. The old file is kept.
    ///
    /// - Parameters:
    ///   - reason: why, for the evidence.
    ///   - person: who does it, for the evidence.
    ///   - isForced: whether evidence that is whole is begun anew too.
    /// - Throws: ``HabitStoreError/Code/unsupported`` when the evidence is whole; why the user cannot be taken to `off`, and
    ///   what the system refuses. Whoever tries again goes on where this ended.
    @discardableResult
    public func resetEvidence(
        because reason: String,
        by person: String,
        isForced: Bool = false
    ) throws -> EvidenceReset {
        try begin()
        defer { route.end() }
        let from = try stage()
        if !isForced, try isEvidenceWhole() {
            throw HabitStoreError(
                .unsupported,
                "the evidence is whole, and what it proves would be lost; add --force to begin it anew all the same",
                at: .init(path: evidence.path)
            )
        }
        if from != .off { try demote(to: .off) }
        let file = try routing.withLock { routing in
            try withSwitch(&routing) { routing, change in
                let revision = flags.revision
                let actual = try reroute(&routing, change, revision).actual
                guard actual.stage == .off else {
                    throw HabitStoreError(
                        .busy,
                        "the user was moved to \(actual.stage.rawValue) meanwhile; try again",
                        at: .init(path: directory.path)
                    )
                }
                let begun = try evidence.reset(
                    because: reason,
                    by: person,
                    anchor: actual.state.evidence,
                    at: Date()
                )
                let anchored = try change.restate(actual) {
                    $0.evidence = begun.head
                    $0.vouched = VouchedLines().text
                }
                routing.loggedEpoch = anchored.epoch
                routing.control?.noteLogged(anchored.epoch, in: evidence)
                _ = try install(anchored, change, nil, revision, &routing)
                return begun.file
            }
        }
        options.logger.notice(
            "a user's evidence was begun anew",
            metadata: ["from": "\(from.rawValue)", "by": "\(person)", "folder": "\(directory.path)"]
        )
        return EvidenceReset(from: from, file: file)
    }

    /// Whether every line is there, and they are this user's. What cannot be read is not.
    private func isEvidenceWhole() throws -> Bool {
        let actual = try currentRoute().actual
        do {
            let summary = try evidence.summary(anchor: actual.state.evidence)
            return try !summary.isAnothers && evidence.verify(anchor: actual.state.evidence).isWhole
        } catch let error as HabitStoreError where error.code != .busy {
            options.logger.error("evidence cannot be read: \(error)")
            return false
        }
    }

    /// Puts what lies before the last checkpoint of the user's evidence into a file of its own.
    ///
    /// - Returns: nil where nothing lies before a checkpoint.
    /// - Throws: as ``EvidenceLog/archive(anchor:at:)`` does.
    public func archiveEvidence() throws -> EvidenceLog.Archived? {
        try begin()
        defer { route.end() }
        checkpointEvidence()
        anchorEvidence()
        return try evidence.archive(trust(try currentRoute().actual), at: Date())
    }
}
