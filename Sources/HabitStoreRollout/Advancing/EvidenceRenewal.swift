import Foundation
import HabitStore

/// Starts the evidence of an open user from scratch, or archives its old lines.
struct EvidenceRenewal {
    let open: OpenUser

    private var log: EvidenceLog { open.context.evidence.log }

    /// Starts the user's evidence from scratch after loss or damage, which would keep the gate closed forever.
    ///
    /// Nothing is proven any more, so the user is first taken to `off`, as ``demote(to:)`` does. The old file is kept.
    ///
    /// - Parameter isForced: whether to reset intact evidence too.
    func reset(because reason: String, by person: String, isForced: Bool) throws -> EvidenceReset {
        let from = try open.currentRoute().actual.stage
        if !isForced, try isEvidenceWhole() {
            throw HabitStoreError(
                .unsupported,
                "the evidence is intact, and a reset would lose what it proves; add --force to reset it anyway",
                at: .init(path: log.path)
            )
        }
        if from != .off { try open.moveBack(to: .off, reason: .demoted) }
        var file: String?
        try open.move(nil) { look, actual, _ in
            guard actual.stage == .off else {
                throw HabitStoreError(
                    .busy,
                    "the user was moved to \(actual.stage.rawValue) meanwhile; try again",
                    at: .init(path: open.directory.path)
                )
            }
            let begun = try log.reset(
                because: reason,
                by: person,
                behind: max(
                    actual.state.evidence?.sequence ?? 0,
                    try open.context.evidence.lastNumber(actual, open.pair)
                ),
                at: Date()
            )
            file = begun.file
            let head = try open.context.evidence.sharedHead(actual, open.pair) ?? begun.head
            let anchored = try look.change.restate(actual) {
                $0.evidence = head
                $0.vouched = VouchedLines().text
            }
            look.change.control.noteLogged(anchored.epoch, in: log)
            return anchored
        }
        open.options.logger.notice(
            "a user's evidence was reset",
            metadata: ["from": "\(from.rawValue)", "by": "\(person)", "folder": "\(open.directory.path)"]
        )
        return EvidenceReset(from: from, file: file)
    }

    /// Whether all lines are there and are this user's; false if the log cannot be read.
    private func isEvidenceWhole() throws -> Bool {
        let actual = try open.currentRoute().actual
        do {
            let summary = try log.summary(anchor: actual.state.evidence)
            return try !summary.isAnothers && log.verify(anchor: actual.state.evidence).isWhole
        } catch let error as HabitStoreError where error.code != .busy {
            open.options.logger.error("evidence cannot be read: \(error)")
            return false
        }
    }

    /// Moves the lines before the last checkpoint of the user's evidence to a separate file.
    ///
    /// - Returns: nil if there are no lines before a checkpoint.
    /// - Throws: as ``EvidenceLog/archive(anchor:at:)`` does.
    func archive() throws -> EvidenceLog.Archived? {
        let actual = try open.currentRoute().actual
        open.checkpointEvidence(actual)
        open.anchorEvidence()
        return try log.archive(open.context.evidence.trust(actual, open.pair), at: Date())
    }
}
