import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import StandardEngines
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// The status of a user is read without changing the user.
struct UserStatusTests {
    private func user(at stage: Stage) throws -> StagedUser {
        try StagedUser(at: stage) { try $0.save(Habit(name: "Run")) }
    }

    @Test(arguments: Stage.allCases)
    func itSaysWhatTheStoreItselfSays(stage: Stage) throws {
        let user = try user(at: stage)
        let status = try user.stores().status(of: "alice")
        #expect(status.stage == stage)
        #expect(status.engine == (stage.authority == .old ? user.old : user.old.otherStandard))
        #expect(status.wanted == stage)
        #expect(status.token == HistoryToken(rawValue: 1))
        #expect(status.mirror == (stage.mirror == nil ? .none : .behind(0)))
        #expect(status.evidence.damage == nil)
        #expect(status.problems.isEmpty)
        #expect(status.movingTo == nil)
    }

    @Test func aMirrorThatLagsOrWasNeverFilledShows() throws {
        let user = try user(at: .dualwrite)
        let old = try user.address(.old).open(.readWrite, schema: HabitSchema.current)
        let terms = WriteTerms(epoch: try old.replicaRead { try $0.information().epoch }, willCommit: { _, _ in })
        for name in ["Read", "Swim"] {
            try old.write(author: nil, under: terms) { try $0.save(Habit(name: name)) }
        }
        old.close()
        let stores = try user.stores()
        #expect(try stores.status(of: "alice").mirror == .behind(2))
        try FileManager.default.removeItem(atPath: try user.address(.new).path)
        #expect(try stores.status(of: "alice").mirror == .notFilled)
    }

    @Test func aStoreThatHangsIsNamedAndHoldsNobodyUp() throws {
        let user = try user(at: .live)
        let hanging = DispatchSemaphore(value: 0)
        defer { hanging.signal() }
        let stores = try user.stores { options in
            options.stepLimitSeconds = 0.05
            options.opener = { address, access, schema in
                if address.engine == .lmdb {
                    hanging.wait()
                    throw HabitStoreError(.inputOutput, "the disk came back")
                }
                return try address.open(access, schema: schema)
            }
        }
        let status = try stores.status(of: "alice")
        #expect(status.stage == .live)
        #expect(status.engine == .lmdb)
        #expect(status.token == nil)
        #expect(status.problems.map(\.place) == ["lmdb"])
        #expect(status.problems.first?.error.code == .busy)
    }

    @Test func theLastDifferenceIsTold() throws {
        let user = try user(at: .shadow)
        let log = EvidenceLog(try user.directory)
        try log.append(
            [
                .difference(stage: .shadow, token: .zero, message: "the first"),
                .difference(stage: .shadow, token: .zero, message: "the last"),
            ],
            at: Date(timeIntervalSince1970: 1_000)
        )
        let status = try user.stores().status(of: "alice")
        #expect(status.evidence.lastDifference?.message == "the last")
        #expect(status.evidence.lastDifference?.time == Date(timeIntervalSince1970: 1_000))
        #expect(status.cleanShadowReads == 0)
    }
}
