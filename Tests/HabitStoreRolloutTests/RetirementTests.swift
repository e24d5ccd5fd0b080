import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import RolloutTesting
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A migration ends when the old store is gone, and nothing goes before it was proven to be in the new one.
struct RetirementTests {
    private func files(_ user: StagedUser) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: try user.directory.path).sorted()
    }

    private func completed(
        _ engine: EngineName = .sqlite,
        retentionSeconds: Double = 0
    ) throws -> (user: StagedUser, store: UserStore) {
        let user = try StagedUser(old: engine)
        let store = try user.stores { $0.gate.retentionSeconds = retentionSeconds }.store(for: "alice")
        try SampleRecords.fill(store)
        try user.bring(store, to: .complete)
        try store.save(Habit(name: "behind the old store's back"))
        return (user, store)
    }

    @Test(arguments: EngineName.standard) func theOldStoreGoesWithAllThatBelongsToIt(_ engine: EngineName) throws {
        let (user, store) = try completed(engine)
        defer { store.close() }
        let count = try store.fetchCount(FetchDescriptor<Habit>())
        let place = try user.address(.old).path
        #expect(try store.retire(by: "a test", isDry: true).decision.isOpen)
        #expect(FileManager.default.fileExists(atPath: place))
        let outcome = try store.retire(by: "a test")
        #expect(outcome.isRemoved && outcome.decision.isOpen)
        #expect(outcome.engine == engine && outcome.place == place)
        #expect(outcome.leftBeside.isEmpty)
        #expect(try !files(user).contains { $0.hasPrefix(URL(fileURLWithPath: place).lastPathComponent) })
        let records = try EvidenceLog(user.directory).read().records.map(\.event)
        #expect(records.contains { if case .retired(engine, _, _, "a test") = $0 { true } else { false } })
        #expect(try user.stores().verifyEvidence(of: "alice").isWhole)
        #expect(try store.fetchCount(FetchDescriptor<Habit>()) == count)
        #expect { try store.retire(by: "a test") } throws: { "\($0)".contains("nothing is left to retire") }
        #expect(try user.stores().examine("alice").isEmpty)
        // The way back is a copy now.
        try store.demote()
        #expect(try store.verify().verdict == .match)
        #expect(try store.fetchCount(FetchDescriptor<Habit>()) == count)
    }

    /// The next rollout begins where the last one has ended.
    @Test func aRetiredUserGoesOnToAThirdEngine() throws {
        let user = try StagedUser(
            old: .sqlite,
            new: .lmdb,
            engines: try Engines([SQLiteProvider(), LMDBProvider(), InMemoryProvider()])
        )
        let store = try user.stores { $0.gate.retentionSeconds = 0 }.store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: .complete)
        #expect(try store.retire(by: "a test").isRemoved)
        try user.bring(store, to: .complete, of: EnginePair(old: .lmdb, new: .memory))
        #expect(try store.engine() == .memory)
        #expect(try store.all(Habit.self).map(\.name) == ["Run"])
    }

    @Test func nothingGoesBeforeItsTime() throws {
        let (user, store) = try completed(retentionSeconds: 3_600)
        defer { store.close() }
        let decision = try store.retire(by: "a test").decision
        guard case .retentionNotOver(let seconds) = try #require(decision.reasons.first) else {
            Issue.record("\(decision.reasons)")
            return
        }
        #expect(decision.reasons.count == 1)
        #expect(seconds > 3_000 && seconds <= 3_600)
        #expect(FileManager.default.fileExists(atPath: try user.address(.old).path))
    }

    @Test(arguments: Stage.allCases.dropLast()) func nothingGoesBeforeTheEnd(_ stage: Stage) throws {
        let user = try StagedUser()
        let store = try user.stores { $0.gate.retentionSeconds = 0 }.store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: stage)
        #expect(try store.retire(by: "a test").decision.reasons == [.notComplete(stage: stage)])
        #expect(try store.all(Habit.self).count == 1)
    }

    /// Flags that want less would have the next operation copy everything back.
    @Test func flagsAndTheKillSwitchKeepTheStore() throws {
        let (user, store) = try completed()
        defer { store.close() }
        let stores = try user.stores { $0.gate.retentionSeconds = 0 }
        try user.want("shadow")
        let other = try stores.store(for: "alice")
        defer { other.close() }
        #expect(try other.retire(by: "a test").decision.isOpen == false)
        try user.want("complete", kill: true)
        stores.reloadFlags()
        #expect(try other.retire(by: "a test").decision.isOpen == false)
        #expect(FileManager.default.fileExists(atPath: try user.address(.old).path))
    }

    /// What was removed past the program from the store that serves is found by what was left, and stays there.
    @Test(arguments: EngineName.standard) func aRecordThatTheNewStoreHasLostKeepsTheOldOne(_ engine: EngineName) throws
    {
        let (user, store) = try completed(engine)
        try user.withStore(.new, .readWrite) { new in
            try new.replicate { replica in
                var first: UUID?
                try replica.enumerate(entity: 0, after: nil) { id, _ in
                    first = id
                    return false
                }
                try replica.remove(entity: 0, id: try #require(first))
            }
        }
        defer { store.close() }
        let outcome = try store.retire(by: "a test")
        #expect(!outcome.isRemoved)
        #expect(outcome.decision.reasons.contains { if case .verificationNotClean = $0 { true } else { false } })
        #expect(FileManager.default.fileExists(atPath: try user.address(.old).path))
        // And another try is not waved through.
        #expect(try !store.retire(by: "a test").isRemoved)
        #expect(try !files(user).contains { $0.hasPrefix(Leftovers.retirements.prefix) })
    }

    /// Copied from the new store, the old one would be equal to it whatever that had lost.
    @Test func aHistoryThatDoesNotReachBackProvesNothing() throws {
        let (user, store) = try completed()
        defer { store.close() }
        let backup = user.folder.path("backup.sqlite")
        try user.withStore(.old) { try $0.backup(to: backup) }
        try store.pruneHistory(through: try store.currentToken())
        #expect { try store.retire(by: "a test") } throws: {
            "\($0)".contains("the history of the store that serves begins")
        }
        #expect { try store.retire(against: StoreAddress(.sqlite, path: backup), by: "a test") } throws: {
            "\($0)".contains("the history of the store that serves begins")
        }
        // A backup that the history reaches.
        let later = user.folder.path("later.lmdb")
        try user.withStore(.new) { try $0.backup(to: later) }
        try store.save(Habit(name: "later"))
        #expect(try store.retire(against: StoreAddress(.lmdb, path: later), by: "a test").isRemoved)
        #expect(try store.fetchCount(FetchDescriptor<Habit>(predicate: #Predicate { $0.name == "later" })) == 1)
    }

    @Test func aStoreOfAnotherOriginProvesNothing() throws {
        let (user, store) = try completed()
        defer { store.close() }
        let other = user.folder.path("other.sqlite")
        let stranger = try SQLiteHabitStore(path: other)
        try stranger.save(Habit(name: "somebody else's"))
        stranger.close()
        #expect { try store.retire(against: StoreAddress(.sqlite, path: other), by: "a test") } throws: {
            "\($0)".contains("has gone another way")
        }
        #expect(FileManager.default.fileExists(atPath: try user.address(.old).path))
    }

    @Test func whatWasSetAsideIsLeftAndNamed() throws {
        let (user, store) = try completed()
        defer { store.close() }
        let aside = try user.address(.old).path + "-adopted-3"
        try Data("a person decides".utf8).write(to: URL(fileURLWithPath: aside))
        #expect(try store.retire(by: "a test").leftBeside == [URL(fileURLWithPath: aside).lastPathComponent])
        #expect(FileManager.default.fileExists(atPath: aside))
    }

    /// A process that dies between the evidence's word and the end of the files leaves a store that nobody is served from.
    @Test func aRetirementThatWasBegunIsFinished() throws {
        let (user, store) = try completed()
        defer { store.close() }
        let open = try store.files.lease().user
        let actual = try open.currentRoute().actual
        #expect(open.record([.retired(engine: .sqlite, epoch: actual.epoch, token: actual.token, by: "a test")]))
        try open.withSwitch { try $0.change.disown(.sqlite) }
        #expect(try open.pair.standing(.sqlite)?.role == .backfilling)
        // History may be forgotten meanwhile: nothing is verified again.
        try store.pruneHistory(through: try store.currentToken())
        #expect(try store.retire(by: "a test").isRemoved)
        #expect(!FileManager.default.fileExists(atPath: try user.address(.old).path))
    }

    @Test func whatWasDisownedIsCopiedAnewOnTheWayBack() throws {
        let (user, store) = try completed()
        defer { store.close() }
        let count = try store.fetchCount(FetchDescriptor<Habit>())
        let open = try store.files.lease().user
        try open.withSwitch { try $0.change.disown(.sqlite) }
        try store.demote(to: .off)
        #expect(try store.engine() == .sqlite)
        #expect(try store.fetchCount(FetchDescriptor<Habit>()) == count)
        #expect(try user.stores().examine("alice").isEmpty)
    }

    /// Checkpoints of earlier versions do not say when a user came to a stage: the time runs from the checkpoint on.
    @Test func anEarlierCheckpointBeginsTheTimeAnew() throws {
        var evidence = StageEvidence()
        evidence.take(
            EvidenceRecord(
                sequence: 1,
                time: Date(timeIntervalSince1970: 1_000),
                event: .stageChanged(from: .rampdown, to: .complete, epoch: 7, token: .zero, reason: .promoted),
                previous: "",
                hash: ""
            )
        )
        #expect(evidence.since == EvidenceInstant(Date(timeIntervalSince1970: 1_000)))
        var text = try #require(JSONSerialization.jsonObject(with: JSONEncoder().encode(evidence)) as? [String: Any])
        text["since"] = nil
        var earlier = try JSONDecoder().decode(StageEvidence.self, from: JSONSerialization.data(withJSONObject: text))
        #expect(earlier.since == nil)
        earlier.take(
            EvidenceRecord(
                sequence: 2,
                time: Date(timeIntervalSince1970: 2_000),
                event: .checkpoint(EvidenceCheckpoint(records: 1, anchor: nil, evidence: earlier)),
                previous: "",
                hash: ""
            )
        )
        #expect(earlier.since == EvidenceInstant(Date(timeIntervalSince1970: 2_000)))
        #expect(earlier.at(.complete).since == earlier.since)
        #expect(earlier.at(.live).since == nil)
    }

    /// Whoever can add a line could say that the user has been there for a year.
    @Test func theTimeOfALineWithoutAKeysSealIsNotBelieved() throws {
        let user = try StagedUser()
        let keys = try EvidenceKeys([Data(String(repeating: "k", count: 32).utf8)])
        let stores = try user.stores {
            $0.gate.retentionSeconds = 3_600
            $0.evidenceKeys = keys
        }
        let store = try stores.store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: .complete)
        let epoch = try store.files.lease().user.currentRoute().actual.epoch
        let forged = EvidenceEvent.stageChanged(
            from: .rampdown,
            to: .complete,
            epoch: epoch,
            token: try store.currentToken(),
            reason: .promoted
        )
        try EvidenceLog(user.directory).append([forged], at: Date(timeIntervalSinceNow: -86_400 * 365))
        #expect(try store.retire(by: "a test").decision.reasons.map(\.kind) == ["retentionNotOver"])
        #expect(FileManager.default.fileExists(atPath: try user.address(.old).path))
    }
}
