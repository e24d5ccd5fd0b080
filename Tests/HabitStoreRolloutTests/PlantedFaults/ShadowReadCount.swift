import Foundation
import HabitStore
import HabitStoreTesting
import ShadowVerifier

@testable import HabitStoreRollout

/// How many shadow reads it takes until one of them shows a planted fault.
struct ShadowReadCount {
    /// So many reads without a sign of it are called never.
    static let limit = 250
    let mix: ReadMix

    init(queries: [QueryFile.Query]) { mix = ReadMix(queries: queries, contents: PlantedUser.contents) }

    /// The number of the first read that shows the fault; 0 where the user is not served with it, nil when none of ``limit`` does.
    ///
    /// - Throws: what else is wrong with the user's store so that no app can open it.
    func reads(until fault: PlantedFault, seed: UInt64) throws -> Int? {
        let user = try PlantedUser(with: fault)
        try user.plant(fault)
        let store: UserStore
        do {
            store = try user.open(fault)
        } catch let error as HabitStoreError where error.code == .staleStore {
            return 0
        }
        defer { store.close() }
        var random = SeededGenerator(seed: seed)
        for number in 1...Self.limit {
            let before = Self.compared(store)
            do {
                try mix.read(store, &random)
            } catch is HabitStoreError {
                // The app's own read fails: nobody needs a comparison to see that.
                return number
            }
            try Self.waitForComparison(store, before)
            let totals = store.files.context.shadowTotals.all
            if totals[.mismatch, default: 0] + totals[.error, default: 0] > 0 { return number }
        }
        return nil
    }

    /// The number in the middle, over some seeds; nil where the fault is mostly not shown.
    func median(_ fault: PlantedFault, seeds: ClosedRange<UInt64>) throws -> Int? {
        var counts: [Int] = []
        for seed in seeds {
            counts.append(try reads(until: fault, seed: seed) ?? .max)
            // What most seeds do not show has no number in the middle, whatever the others show.
            if counts.count(where: { $0 == .max }) > seeds.count / 2 { return nil }
        }
        counts.sort()
        let middle = counts[counts.count / 2]
        return middle == .max ? nil : middle
    }

    /// How many questions were compared, or found to be none that can be.
    private static func compared(_ store: UserStore) -> Int { store.files.context.shadowTotals.all.values.reduce(0, +) }

    /// Waits until the question of a read is compared; each read of the mix asks one.
    ///
    /// - Throws: when it is not.
    private static func waitForComparison(_ store: UserStore, _ before: Int) throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while compared(store) == before {
            guard ContinuousClock.now < deadline else {
                throw HabitStoreError(.busy, "a shadow read was not compared within 30 seconds")
            }
            Thread.sleep(forTimeInterval: 0.000_1)
        }
    }
}
