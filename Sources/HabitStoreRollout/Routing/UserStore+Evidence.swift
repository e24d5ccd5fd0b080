import Foundation
import HabitStore

extension UserStore {
    /// Writes events down, with those that could not be written before.
    ///
    /// A move does not fail because of it: it has happened. What cannot be written is kept, and the gate, which reads what
    /// is written, lets nobody forward meanwhile.
    func record(_ events: [EvidenceEvent]) {
        unwritten.withLock { unwritten in
            unwritten += events
            guard !unwritten.isEmpty else { return }
            do {
                _ = try evidence.append(unwritten, at: Date())
                unwritten = []
                CrashPoint.reach("evidence.appended")
            } catch {
                options.logger.error("evidence cannot be written: \(error)")
            }
        }
    }

    /// A move that was made.
    func note(_ before: Actual, _ after: Actual, _ reason: StageChangeReason, _ routing: inout Routing) {
        routing.loggedEpoch = after.epoch
        metrics.stageChanged(from: before.stage, to: after.stage)
        options.logger.notice(
            "a user's stage changed",
            metadata: [
                "from": "\(before.stage.rawValue)", "to": "\(after.stage.rawValue)", "why": "\(reason.rawValue)",
                "token": "\(after.token)", "epoch": "\(after.epoch)", "folder": "\(directory.path)",
            ]
        )
        record([
            .stageChanged(
                from: before.stage,
                to: after.stage,
                epoch: after.epoch,
                token: after.token,
                reason: reason
            )
        ])
    }

    /// Makes up for a move that was written into the stores and not into the evidence, because its process was killed.
    func record(_ actual: Actual, _ routing: inout Routing) {
        guard routing.loggedEpoch == nil else { return }
        do {
            let logged = try evidence.read().records.reversed().lazy.compactMap { record -> (Stage, Int)? in
                guard case .stageChanged(_, let to, let epoch, _, _) = record.event else { return nil }
                return (to, epoch)
            }.first
            let (stage, epoch) = logged ?? (.off, 0)
            routing.loggedEpoch = actual.epoch
            guard stage != actual.stage, epoch < actual.epoch else { return }
            record([
                .stageChanged(
                    from: stage,
                    to: actual.stage,
                    epoch: actual.epoch,
                    token: actual.token,
                    reason: .recovered
                )
            ])
        } catch {
            options.logger.error("evidence cannot be read: \(error)")
        }
    }
}
