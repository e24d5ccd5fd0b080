import Foundation
import HabitStore
import HabitStorePostgres
import ShadowVerifier
import Testing

@testable import HabitStoreRollout

/// Shadow reads show what an app reads, sooner or later; the full verification shows all of it in one run.
struct PlantedFaultTableTests {
    /// The path where `make planted-faults` wants the table.
    private static let wanted = ProcessInfo.processInfo.environment["HABITSTORE_PLANTED_FAULTS"]
    private static let seed =
        ProcessInfo.processInfo.environment["HABITSTORE_PLANTED_FAULTS_SEED"].flatMap(UInt64.init) ?? 1

    @Test(arguments: [
        "a lost habit", "a double off by one ulp", "a link to the wrong record", "a count that differs from the rows",
    ])
    func shadowReadsShowWhatAnAppReads(name: String) throws {
        let count = ShadowReadCount(queries: try ReadMix.queries())
        let faults = PlantedFault.all.filter { $0.name == name && ($0.engine != .postgres || PlantedServer.isThere) }
        try #require(faults.count == (PlantedServer.isThere ? 3 : 2))
        for fault in faults {
            let reads = try count.reads(until: fault, seed: Self.seed)
            #expect(reads != nil, "\(fault.testDescription), seed \(Self.seed)")
        }
    }

    /// Making the table failed: it opened a user whose old store had lost a transaction that the copy has, and such a store counts as restored and is
    /// refused.
    @Test func aUserWhoseStoreLostATransactionIsNotServed() throws {
        let count = ShadowReadCount(queries: try ReadMix.queries())
        let fault = try #require(
            PlantedFault.all.first { $0.name == "the last transaction lost" && $0.engine == .sqlite }
        )
        #expect(try count.reads(until: fault, seed: Self.seed) == 0)
    }

    @Test func shadowReadsOfSoundStoresShowNothing() throws {
        let count = ShadowReadCount(queries: try ReadMix.queries())
        let none = PlantedFault(name: "none", engine: .lmdb, deed: .file { _, _ in }, traces: [])
        let reads = try count.reads(until: none, seed: Self.seed)
        #expect(reads == nil, "seed \(Self.seed)")
    }

    @Test(.enabled(if: wanted != nil))
    func theTableOfAllFaults() throws {
        let path = try #require(Self.wanted)
        let queries = try ReadMix.queries()
        let count = ShadowReadCount(queries: queries)
        let faults = PlantedServer.isThere ? PlantedFault.all : PlantedFault.inFiles
        let rows = try faults.map { fault in
            PlantedFaultTable.Row(
                fault: fault,
                levels: try levels(fault, queries),
                reads: try count.median(fault, seeds: Self.seed...Self.seed + 2)
            )
        }
        try PlantedFaultTable(rows: rows).markdown.write(toFile: path, atomically: true, encoding: .utf8)
    }

    /// The levels that catch a fault.
    private func levels(_ fault: PlantedFault, _ queries: [QueryFile.Query]) throws -> [String] {
        let user = try PlantedUser(with: fault)
        try user.plant(fault)
        do {
            let caught = CaughtFault(report: try user.verify(fault, queries: queries))
            #expect(caught.report.verdict != .match, "\(fault.testDescription)")
            return fault.outcome == .skew ? ["tokens"] : caught.levels.map(\.name)
        } catch let error as HabitStoreError where error.code == .corrupt && fault.outcome == .refusal {
            return ["the store itself"]
        }
    }
}
