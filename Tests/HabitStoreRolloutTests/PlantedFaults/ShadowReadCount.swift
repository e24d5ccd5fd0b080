import Foundation
import HabitStore
import HabitStoreTesting
import ShadowVerifier

@testable import HabitStoreRollout

/// The number of shadow reads until one of them shows a planted fault.
struct ShadowReadCount {
    /// After this many reads without a sign, the fault counts as never shown.
    static let limit = 250
    let mix: ReadMix

    init(queries: [QueryFile.Query]) { mix = ReadMix(queries: queries, contents: PlantedUser.contents) }

    /// The number of the first read that shows the fault; 0 if the user is not served with it, nil if no read up to ``limit`` does.
    ///
    /// - Throws: other errors because of which no app can open the user's store.
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
                // The app's own read fails, which no comparison is needed to see.
                return number
            }
            try Self.waitForComparison(store, before)
            let totals = store.files.context.shadowTotals.all
            if totals[.mismatch, default: 0] + totals[.error, default: 0] > 0 { return number }
        }
        return nil
    }

    /// The median over some seeds; nil if most seeds do not show the fault.
    func median(_ fault: PlantedFault, seeds: ClosedRange<UInt64>) throws -> Int? {
        var counts: [Int] = []
        for seed in seeds {
            counts.append(try reads(until: fault, seed: seed) ?? .max)
            // If most seeds do not show it, there is no median.
            if counts.count(where: { $0 == .max }) > seeds.count / 2 { return nil }
        }
        counts.sort()
        let middle = counts[counts.count / 2]
        return middle == .max ? nil : middle
    }

    /// The number of reads that were compared, or found not to be comparable.
    private static func compared(_ store: UserStore) -> Int { store.files.context.shadowTotals.all.values.reduce(0, +) }

    /// Waits until a read has been compared; each read of the mix causes one comparison.
    ///
    /// - Throws: `busy` if it is not compared in time.
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
