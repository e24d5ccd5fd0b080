import Foundation
import HabitStore
import HabitStoreRollout

extension TangleRecovery {
    /// The chain is whole, nobody has found a difference, and whoever came to `live` was let in.
    func checkEvidence(_ outcome: inout Outcome) throws {
        let isEvidenceTampered = [.olderEvidence, .missingEvidence, .olderFolder].contains(scenario.tampering)
        guard !isEvidenceTampered else { return }
        let chain = try EvidenceLog(UserDirectory(root: root.path, user: TangleWorkload.user)).read()
        if let damage = chain.damage {
            outcome.violations.append("line \(damage.line) of the evidence: \(damage.reason)")
        }
        var admitted: [Int] = []
        var epochs: [Int] = []
        for record in chain.records {
            switch record.event {
            // Where nothing follows, another store that is there may be an old one or none yet.
            case .difference(let stage, let token, let message, _) where !isTampered && stage.mirror != nil:
                outcome.violations.append("a difference at \(stage.rawValue), token \(token): \(message)")
            case .admitted(.live, let epoch): admitted.append(epoch)
            case .stageChanged(let from, let to, let epoch, _, let reason, _):
                let before = epochs.filter { $0 < epoch }.max() ?? 0
                if to == .live, from < .live, !admitted.contains(where: { $0 >= before && $0 < epoch }) {
                    outcome.violations.append(
                        "\(from) to live (\(reason.rawValue)) at epoch \(epoch) without being admitted since epoch \(before)"
                    )
                }
                epochs.append(epoch)
            default: break
            }
        }
    }
}
