import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import StandardEngines

extension TangleRecovery {
    /// The chain is intact, no difference was found, and every move to `live` was admitted.
    func checkEvidence(_ outcome: inout Outcome) throws {
        let isEvidenceTampered = [.olderEvidence, .missingEvidence, .olderFolder].contains(scenario.tampering)
        guard !isEvidenceTampered else { return }
        let chain = try EvidenceLog(UserDirectory(root: root.path, user: SweptUser.name)).read()
        if let damage = chain.damage {
            outcome.violations.append("evidence line \(damage.line): \(damage.reason)")
        }
        var admitted: [Int] = []
        var epochs: [Int] = []
        var verified: [Date] = []
        for record in chain.records {
            switch record.event {
            // If no mirror follows at this stage, another store may be an old one or not filled yet.
            case .difference(let stage, let token, let message, _)
            where !isTampered && stage.mirror != nil && scenario.start != .differing:
                outcome.violations.append("a difference at \(stage.rawValue), token \(token): \(message)")
            case .verified: verified.append(record.time)
            case .admitted(let to, let epoch):
                if to == .live { admitted.append(epoch) }
                checkFreshness(of: verified, for: to, at: record.time, &outcome)
            case .stageChanged(let from, let to, let epoch, _, let reason, _, _):
                verified = []
                if reason == .differenceFound, !isTampered {
                    outcome.violations.append(
                        "the user was moved from \(from) to \(to) for a difference, but nothing differed"
                    )
                }
                let before = epochs.filter { $0 < epoch }.max() ?? 0
                // Earlier versions admitted users without recording it.
                if to == .live, from < .live, !isMixed, !admitted.contains(where: { $0 >= before && $0 < epoch }) {
                    outcome.violations.append(
                        "\(from) to live (\(reason.rawValue)) at epoch \(epoch) without admission since epoch \(before)"
                    )
                }
                epochs.append(epoch)
            default: break
            }
        }
    }

    /// A user was admitted on verifications from the same stay that were neither too old nor in the future, by the admitting process's clock.
    private func checkFreshness(of verified: [Date], for stage: Stage, at time: Date, _ outcome: inout Outcome) {
        guard stage >= .live, !verified.isEmpty else { return }
        let lifetime = RolloutOptions.tangle.gate.verificationLifetimeSeconds + Gate.clockToleranceSeconds
        let ages = verified.map { time.timeIntervalSince($0) }
        if !ages.contains(where: { $0 >= -Gate.clockToleranceSeconds && $0 <= lifetime }) {
            outcome.violations.append("admitted to \(stage) on verifications that were \(ages.map { Int($0) }) s old")
        }
    }

    /// Differing stores never let a user in, regardless of the state of the evidence files, and a difference that was found is recorded.
    func checkDifference(_ user: SweptUser, _ stage: Stage, _ outcome: inout Outcome) throws {
        let found = reports.flatMap(\.mismatches).count
        outcome.ends.append(found > 0 ? "a difference was found" : "no comparison looked for the difference")
        if stage >= .live { outcome.violations.append("the user reached \(stage), although the stores differ") }
        if found > 0, try !user.store.owesEvidence && !isDifferenceInEvidence() {
            outcome.violations.append("a difference was found, but it is neither in the evidence nor owed to it")
        }
        if stage == .shadow, try user.goForward() == nil {
            outcome.violations.append("the gate to live is open, although the stores differ")
        }
        user.store.close()
    }

    private func isDifferenceInEvidence() throws -> Bool {
        let chain = try EvidenceLog(UserDirectory(root: root.path, user: SweptUser.name)).read()
        return chain.records.contains { record in
            switch record.event {
            case .difference: true
            case .verified(_, _, _, _, let differences, _, _): differences > 0
            default: false
            }
        }
    }
}
