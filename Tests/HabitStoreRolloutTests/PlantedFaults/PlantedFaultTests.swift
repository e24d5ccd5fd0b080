import Foundation
@_spi(Engines) import HabitStore
import ShadowVerifier
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// No miss: whatever is wrong in one of two stores, the full verification finds it, and says where.
struct PlantedFaultTests {
    private static let queries = Result { try ReadMix.queries() }

    @Test func theCatalogueHasEveryFaultOnce() {
        let names = PlantedFault.all.map(\.testDescription)
        #expect(Set(names).count == names.count)
        #expect(Set(PlantedFault.all.map(\.name)).count >= 45)
        #expect(EngineName.standard.allSatisfy { engine in PlantedFault.all.count { $0.engine == engine } >= 45 })
    }

    @Test func storesWithoutAFaultMatch() throws {
        let user = try PlantedUser()
        let report = try user.verify(nil, queries: try Self.queries.get())
        #expect(report.verdict == .match)
        #expect(report.a.counts == ["Habit": 12, "Entry": 400, "Tag": 4, "Draft": 6])
        #expect(report.a.information.token == HistoryToken(rawValue: 10))
    }

    @Test(arguments: PlantedFault.all)
    func theFullVerificationSaysWhatIsWrongAndWhere(fault: PlantedFault) throws {
        let user = try PlantedUser()
        try user.plant(fault)
        let caught = CaughtFault(report: try user.verify(fault, queries: try Self.queries.get()))
        let verdict = caught.report.verdict
        #expect(verdict == (fault.isSkew ? .skewed : .mismatch), "\(caught.description)")
        guard !fault.isSkew else { return }
        for trace in fault.traces {
            let isSaid = caught.says(trace)
            #expect(isSaid, "\(trace)\n\(caught.description)")
        }
    }

    /// Digests are kept by the store's own transactions: what those did wrongly, they tell without the records being read.
    @Test(arguments: PlantedFault.mirrored(PlantedUser.contents))
    func keptDigestsTellWhatTheMirrorDidWrongly(fault: PlantedFault) throws {
        let user = try PlantedUser()
        try user.plant(fault)
        let caught = CaughtFault(report: try user.verify(fault, queries: [], depth: .keptDigests))
        let trace = try #require(fault.traces.first)
        let isSaid = caught.says(
            .init(level: "kept digests", entity: trace.entity, id: trace.id, attribute: trace.attribute)
        )
        #expect(isSaid, "\(caught.description)")
    }

    /// What faults are planted with in LMDB is not the code that is tested.
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
