import Foundation
@_spi(Engines) import HabitStore
import HabitStorePostgres
import HabitTracker
import RolloutTesting
import ShadowVerifier
import Testing

@testable import HabitStoreRollout

/// No misses: the full verification finds whatever is wrong in one of two stores, and says where.
struct PlantedFaultTests {
    private static let queries = Result { try ReadMix.queries() }

    private static let mirrored = PlantedFault.mirrored(PlantedUser.contents).filter {
        $0.engine != .postgres || PlantedServer.isThere
    }

    @Test func theCatalogueHasEveryFaultOnce() {
        let names = PlantedFault.all.map(\.testDescription)
        #expect(Set(names).count == names.count)
        #expect(Set(PlantedFault.all.map(\.name)).count >= 45)
        #expect(PlantedFault.engines.allSatisfy { engine in PlantedFault.all.count { $0.engine == engine } >= 45 })
    }

    @Test func storesWithoutAFaultMatch() throws {
        let user = try PlantedUser()
        let report = try user.verify(nil, queries: try Self.queries.get())
        #expect(report.verdict == .match)
        #expect(report.a.counts == ["Habit": 12, "Entry": 400, "Tag": 4, "Draft": 6])
        #expect(report.a.information.token == HistoryToken(rawValue: 10))
    }

    @Test(arguments: PlantedFault.inFiles)
    func theFullVerificationSaysWhatIsWrongAndWhere(fault: PlantedFault) throws {
        try expectCaught(fault, .fromSQLite)
    }

    /// The store on the server is the user's new one, or the old one.
    @Test(.needsServer, arguments: PlantedServer.tried)
    func theFullVerificationSaysWhatIsWrongOnAServer(_ planted: PlantedServer.Case) throws {
        try expectCaught(planted.fault, planted.direction.rollout.get())
    }

    private func expectCaught(_ fault: PlantedFault, _ rollout: RolloutUnderTest) throws {
        let user = try PlantedUser(rollout)
        try user.plant(fault)
        let queries = try Self.queries.get()
        guard fault.outcome != .refusal else {
            #expect { try user.verify(fault, queries: queries) } throws: { ($0 as? HabitStoreError)?.code == .corrupt }
            return
        }
        let caught = CaughtFault(report: try user.verify(fault, queries: queries))
        let verdict = caught.report.verdict
        #expect(verdict == (fault.outcome == .skew ? .skewed : .mismatch), "\(caught.description)")
        guard fault.outcome == .mismatch else { return }
        for trace in fault.traces {
            let isSaid = caught.says(trace)
            #expect(isSaid, "\(trace)\n\(caught.description)")
        }
        guard fault.engine == .postgres, fault.traces.contains(where: { $0.level == "contents" }) else { return }
        // The store's row has the digests of its own transactions' writes, including those of a faulty mirror.
        let isMirrored = Self.mirrored.contains { $0.name == fault.name }
        #expect(caught.levels.contains { $0.name == "store checks" } != isMirrored, "\(caught.description)")
    }

    /// In a store without a planted fault, fitting the row must change nothing.
    @Test(.needsServer) func theStoreRowThatFitsIsTheRowThatTheStoreWrites() throws {
        let user = try PlantedUser(PlantedServer.Direction.toServer.rollout.get())
        try PostgresPlanter(path: user.address(.postgres).path).leavingStoreRow.write { rows in
            let written = try rows.storeRow()
            try rows.fitStoreRow()
            #expect(try rows.storeRow() == written)
        }
        #expect(try user.verify(nil, queries: try Self.queries.get()).verdict == .match)
    }

    /// The store's own transactions keep the digests, so these reveal what the transactions did wrong without reading records.
    @Test(arguments: mirrored)
    func keptDigestsTellWhatTheMirrorDidWrongly(fault: PlantedFault) throws {
        let user = try PlantedUser(with: fault)
        try user.plant(fault)
        let caught = CaughtFault(report: try user.verify(fault, queries: [], depth: .keptDigests))
        let trace = try #require(fault.traces.first)
        let isSaid = caught.says(
            .init(level: "kept digests", entity: trace.entity, id: trace.id, attribute: trace.attribute)
        )
        #expect(isSaid, "\(caught.description)")
    }

    /// The faults in ordered keys are encoded by other code than the code under test.
    @Test func theRawFormOfARecordIsTheFormThatTheStoreWrites() throws {
        for habit in PlantedUser.contents.habits {
            let record = try EncodedRecord(try habit.values, layout: Habit.entity.layout)
            #expect(RawRecord.encode(try habit.values, Habit.entity.layout) == record.bytes)
        }
        for draft in PlantedUser.contents.drafts {
            let record = try EncodedRecord(try draft.values, layout: Draft.entity.layout)
            #expect(RawRecord.encode(try draft.values, Draft.entity.layout) == record.bytes)
        }
    }
}
