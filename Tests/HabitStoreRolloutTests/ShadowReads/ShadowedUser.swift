import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import StandardEngines
import Synchronization
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// A user at a stage with shadow reads, whose other store lies, fails or hangs when a test wants that.
final class ShadowedUser: Sendable {
    static let names = ["Ada", "Bob", "Cyd", "Dee", "Eve"]

    let staged: StagedUser
    let store: UserStore
    /// The faults of the other store.
    let plan = FaultPlan()
    private let other: Held

    private final class Held: Sendable {
        let store = Mutex<LyingStore?>(nil)
    }

    init(at stage: Stage = .shadow, old: EngineName = .sqlite, _ change: (inout RolloutOptions) -> Void = { _ in })
        throws
    {
        staged = try StagedUser(old: old)
        other = Held()
        let first = try staged.stores().store(for: "alice")
        try first.write(author: nil) { transaction in
            for (number, name) in Self.names.enumerated() {
                let date = SampleRecords.referenceDate.addingTimeInterval(Double(number))
                try transaction.insert(
                    Habit(id: SampleRecords.id(number + 1), name: name, createdAt: date, streak: number)
                )
            }
        }
        try staged.bring(first, to: stage)
        first.close()
        let shadow = stage.shadow == .old ? old : old.otherStandard
        store = try staged.stores { [plan, other] options in
            options.shadowReads.recordEvery = 1_000_000
            options.logger.logLevel = .critical
            options.shadowReads.tokenWaitSeconds = 2
            options.opener = { address, access, schema in
                let isCopy = ["rehearsal-", "self-comparison-"].contains { address.path.contains($0) }
                guard address.engine == shadow, !isCopy else { return try address.open(access, schema: schema) }
                let faulty = try FaultInjectingStore(plan, path: address.path) {
                    try address.open(access, schema: schema)
                }
                let lying = LyingStore(faulty, .none)
                other.store.withLock { $0 = lying }
                return lying
            }
            change(&options)
        }.store(for: "alice")
        // The first comparison opens the store, which lies from then on.
        _ = try store.all(Tag.self)
        store.files.leases.load()?.shadow?.drain(seconds: 60)
        store.files.leases.load()?.shadow?.flush()
    }

    deinit {
        plan.heal()
        store.close()
    }

    /// How many rows the other store returned slowly.
    var slowRows: Int { other.store.withLock { $0?.slowRows ?? 0 } }

    func lie(_ lie: LyingStore.Lie) { other.store.withLock { $0?.set(lie) } }

    /// Waits until everything is compared, and returns the verdicts since the last call.
    func counts(seconds: Double = 10) throws -> [ShadowVerdict: Int] {
        let before = try store.files.context.evidence.log.read().records.count
        let shadow = try #require(store.files.leases.load()?.shadow)
        shadow.drain(seconds: seconds)
        shadow.flush()
        var counts: [ShadowVerdict: Int] = [:]
        for record in try store.files.context.evidence.log.read().records[before...] {
            guard
                case .shadowReads(_, let clean, let differ, let skewed, let failed, let shed, let rerun, let late, _) =
                    record.event
            else { continue }
            let found: [(ShadowVerdict, Int)] = [
                (.match, clean), (.mismatch, differ), (.skewed, skewed), (.error, failed), (.shed, shed),
                (.rerun, rerun), (.timedOut, late),
            ]
            for (verdict, count) in found where count > 0 { counts[verdict, default: 0] += count }
        }
        return counts
    }

    /// The differences in the evidence.
    func differences() throws -> [String] {
        try store.files.context.evidence.log.read().records.compactMap { record in
            guard case .difference(_, _, let message, _) = record.event else { return nil }
            return message
        }
    }
}
