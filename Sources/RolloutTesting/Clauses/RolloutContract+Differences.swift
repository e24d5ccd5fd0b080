import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker

/// A verification finds a record that differs between the stores, and the gate stays closed.
extension RolloutContract {
    static let differenceClauses = PlantedDifference.allCases.flatMap { difference in
        StoreSide.allCases.map { side in
            Clause("\(difference.rawValue) in the \(side.rawValue) store only is found, and keeps the gate closed") {
                rollout in
                let user = try rollout.user()
                let store = try user.stores().store(for: "alice")
                defer { store.close() }
                try PlantedDifference.fill(store)
                try user.bring(store, to: .shadow)
                try user.withStore(side, .readWrite) { try difference.plant(in: $0) }
                let report = try store.verify()
                try expectEqual(report.verdict, .mismatch, "the verdict")
                let isNamed = report.differences.contains { $0.id == difference.id && $0.ignoredBy == nil }
                try expect(isNamed, "the record is named in \(report.differences)")
                try user.want("live")
                store.reloadFlags()
                for _ in 0..<5 { _ = try store.all(Tag.self) }
                let decision = try require(try store.advance(to: .live), "the gate's decision")
                let isClosed = decision.reasons.contains { reason in
                    if case .verificationNotClean = reason { true } else { false }
                }
                try expect(isClosed, "the gate is closed by the verification, and not by \(decision.reasons)")
                try expectEqual(try store.stage(), .shadow, "the stage")
                try store.save(Tag(name: "still written"))
                try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 2, "the number of tags")
            }
        }
    }
}
