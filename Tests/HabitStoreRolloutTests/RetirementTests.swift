import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitTracker
import RolloutTesting
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A migration ends when the old store is removed, and nothing is removed before it has been found in the new one.
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
        try store.save(Habit(name: "after the old store was left"))
        return (user, store)
    }

    @Test(arguments: EngineName.standard) func theOldStoreGoesWithAllThatBelongsToIt(_ engine: EngineName) throws {
        let (user, store) = try completed(engine)
        defer { store.close() }
        let count = try store.fetchCount(FetchDescriptor<Habit>())
        let place = try user.address(.old).path
        let looking = try user.stores { $0.gate.retentionSeconds = 0 }
        let asked = try looking.retirement(of: "alice")
        #expect(asked.decision.isOpen && asked.engine == engine && asked.place == place && !asked.isRemoved)
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
        let again = try store.retire(by: "a test")
        #expect(again.wasRemovedBefore && !again.isRemoved && again.decision.isOpen)
        #expect(try looking.retirement(of: "alice").wasRemovedBefore)
        #expect(try user.stores().examine("alice").isEmpty)
        // The way back is now a copy.
        try store.demote()
        #expect(try store.verify().verdict == .match)
        #expect(try store.fetchCount(FetchDescriptor<Habit>()) == count)
    }

    /// A kill by flag or sentinel refused all writes of a user without an old store until an operator ran `rollout kill`: a short-lived process has
    /// no thread that copies the store.
    @Test(arguments: EngineName.standard) func aKilledUserWithoutAnOldStoreIsTakenBackByOpening(_ engine: EngineName)
        throws
    {
        let (user, store) = try completed(engine)
        let count = try store.fetchCount(FetchDescriptor<Habit>())
        #expect(try store.retire(by: "a test").isRemoved)
        store.close()
        try user.want("complete", kill: true)
        let killed = try user.stores().store(for: "alice")
        defer { killed.close() }
        try killed.save(Habit(name: "after the kill"))
        #expect(try killed.stage() == .off)
        #expect(try killed.engine() == engine)
        #expect(try killed.fetchCount(FetchDescriptor<Habit>()) == count + 1)
        #expect(try user.stores().status(of: "alice").isKilled)
    }

    /// The next rollout starts where the last one ended.
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

    /// With flags that want an earlier stage, the next operation would copy everything back.
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

    /// A kill took the user to `off`, and the reason was "`rollout advance` takes the user there", which is refused while the kill is in force.
    @Test func aKilledUserIsToldOfTheKill() throws {
        let (user, store) = try completed()
        store.close()
        try user.want("complete", kill: true)
        let stores = try user.stores { $0.gate.retentionSeconds = 0 }
        #expect(try stores.retirement(of: "alice").decision.reasons.contains(.killed))
        let killed = try stores.store(for: "alice")
        defer { killed.close() }
        #expect(try killed.retire(by: "a test").decision.reasons == [.killed])
        #expect(try killed.stage() == .off)
        #expect(try stores.retirement(of: "alice").decision.reasons == [.killed])
    }

    @Test func aUserWithoutASecondStoreHasNoneThatIsKept() throws {
        let user = try StagedUser()
        let stores = try user.stores { $0.gate.retentionSeconds = 0 }
        let store = try stores.store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        #expect(try !store.retire(by: "a test").isThere)
        #expect(try !stores.retirement(of: "alice").isThere)
    }

    enum OldStore: String, CaseIterable {
        case folder, empty, truncated, foreign
    }

    /// The dry run only asked the gate: "could be removed", where the real run kept what it could not read.
    @Test(arguments: OldStore.allCases) func aDryRunOpensTheStore(_ kind: OldStore) throws {
        let (user, first) = try completed()
        first.close()
        let place = try user.address(.old).path
        let url = URL(fileURLWithPath: place)
        let bytes = try Data(contentsOf: url)
        for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: place + suffix) {
            try FileManager.default.removeItem(atPath: place + suffix)
        }
        switch kind {
        case .folder: try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        case .empty: try Data().write(to: url)
        case .truncated: try bytes.prefix(9_000).write(to: url)
        case .foreign:
            let other = try user.engines.open(user.address(.old), .create, schema: HabitSchema.current)
            defer { other.close() }
            try other.save(Habit(name: "of someone else"))
        }
        let stores = try user.stores { $0.gate.retentionSeconds = 0 }
        #expect(throws: HabitStoreError.self) { try stores.retirement(of: "alice") }
        #expect(FileManager.default.fileExists(atPath: place))
        let store = try stores.store(for: "alice")
        defer { store.close() }
        #expect(throws: HabitStoreError.self) { try store.retire(by: "a test") }
        #expect(FileManager.default.fileExists(atPath: place))
    }

    /// Comparing with the old store reveals a record that was removed from the serving store by other means, and the old store stays.
    @Test(arguments: EngineName.standard) func aRecordThatTheNewStoreHasLostKeepsTheOldOne(_ engine: EngineName) throws
    {
        let (user, store) = try completed(engine)
        try user.withStore(.new, .readWrite) { try $0.loseARecord() }
        defer { store.close() }
        let outcome = try store.retire(by: "a test")
        #expect(!outcome.isRemoved)
        #expect(outcome.decision.reasons.contains { if case .verificationNotClean = $0 { true } else { false } })
        #expect(FileManager.default.fileExists(atPath: try user.address(.old).path))
        // Nor does another attempt succeed.
        #expect(try !store.retire(by: "a test").isRemoved)
        #expect(try !files(user).contains { $0.hasPrefix(TemporaryCopies.retirements.prefix) })
    }

    /// If the old store was copied from the new one, they are equal whatever the new one had lost.
    @Test func aHistoryThatDoesNotReachBackProvesNothing() throws {
        let (user, store) = try completed()
        defer { store.close() }
        try store.pruneHistory(through: try store.currentToken())
        #expect { try store.retire(by: "a test") } throws: {
            "\($0)".contains("the history of the serving store begins")
        }
        #expect(FileManager.default.fileExists(atPath: try user.address(.old).path))
    }

    /// If the old store cannot be read, a backup of it proves as much.
    @Test func aBackupIsVerifiedInThePlaceOfADamagedStore() throws {
        let (user, first) = try completed()
        first.close()
        let (backup, serving) = (user.folder.path("backup.sqlite"), user.folder.path("serving.lmdb"))
        try user.withStore(.old) { try $0.backup(to: backup) }
        try user.withStore(.new) { try $0.backup(to: serving) }
        try Data("no store, for certain".utf8).write(to: URL(fileURLWithPath: user.address(.old).path))
        let store = try user.stores { $0.gate.retentionSeconds = 0 }.store(for: "alice")
        defer { store.close() }
        #expect(throws: HabitStoreError.self) { try store.retire(by: "a test") }
        // The serving store proves nothing about itself.
        #expect { try store.retire(against: StoreAddress(.lmdb, path: serving), by: "a test") } throws: {
            "\($0)".contains("does not say that it is of the sqlite store, since")
        }
        #expect { try store.retire(against: user.address(.new), by: "a test") } throws: {
            "\($0)".contains("does not say that it is of the sqlite store, since")
        }
        #expect(FileManager.default.fileExists(atPath: try user.address(.old).path))
        #expect(try store.retire(against: StoreAddress(.sqlite, path: backup), by: "a test").isRemoved)
        #expect(try store.fetchCount(FetchDescriptor<Habit>()) > 0)
    }

    /// `habitstore copy` of the serving store to a file of the old engine was accepted as a backup of the old store: the evidence said "match, 100 %
    /// covered", and the damaged old store was removed. The copy had been compared with its source.
    @Test func aCopyOfTheServingStoreIsNoBackupOfTheOldOne() throws {
        let (user, first) = try completed()
        first.close()
        let backup = user.folder.path("backup.sqlite")
        try user.withStore(.old) { try $0.backup(to: backup) }
        try user.withStore(.new, .readWrite) { try $0.loseARecord() }
        try Data("no store, for certain".utf8).write(to: URL(fileURLWithPath: user.address(.old).path))
        let store = try user.stores { $0.gate.retentionSeconds = 0 }.store(for: "alice")
        defer { store.close() }
        let copies = [
            StoreAddress(.sqlite, path: user.folder.path("copy.sqlite")),
            StoreAddress(.lmdb, path: user.folder.path("copy.lmdb")),
        ]
        for copy in copies {
            try user.withStore(.new) { source in
                let target = try user.engines.open(copy, .create, schema: HabitSchema.current)
                defer { target.close() }
                _ = try Backfill(from: source, to: target).run()
            }
            #expect { try store.retire(against: copy, by: "a test") } throws: {
                "\($0)".contains("does not say that it is of the sqlite store, since")
            }
        }
        let records = try EvidenceLog(user.directory).read().records.map(\.event)
        #expect(!records.contains { if case .retired = $0 { true } else { false } })
        #expect(FileManager.default.fileExists(atPath: try user.address(.old).path))
        // The true backup shows what the serving store has lost.
        #expect(try !store.retire(against: StoreAddress(.sqlite, path: backup), by: "a test").isRemoved)
    }

    /// A backup from `dualwrite` was accepted after one from `complete` had shown a loss: brought up by the serving store's own history, the changed
    /// record came from the store that had changed it, and the old store was removed.
    @Test func aBackupFromBeforeTheMoveProvesNothingAboutWhatWasWrittenUntilThen() throws {
        let user = try StagedUser(old: .sqlite)
        let first = try user.stores().store(for: "alice")
        try SampleRecords.fill(first)
        try user.bring(first, to: .rampdown)
        let early = user.folder.path("early.sqlite")
        try user.withStore(.old) { try $0.backup(to: early) }
        try first.save(Draft(content: "of rampdown"))
        try user.bring(first, to: .complete)
        first.close()
        let late = user.folder.path("late.sqlite")
        try user.withStore(.old) { try $0.backup(to: late) }
        try user.withStore(.new, .readWrite) { store in
            let position = try store.schema.position(ofEntity: "Draft")
            let entity = store.schema.entities[position]
            let content = try #require(entity.attributes.firstIndex { $0.name == "content" })
            let draft = try #require(try store.all(Draft.self).first { $0.content == "of rampdown" })
            try store.replicate { replica in
                var values = try #require(try replica.record(entity: position, id: draft.id)).values(entity.layout)
                values[content] = .string("changed")
                try replica.put(entity: position, id: draft.id, try EncodedRecord(values, layout: entity.layout))
            }
        }
        try Data("no store, for certain".utf8).write(to: URL(fileURLWithPath: user.address(.old).path))
        let store = try user.stores { $0.gate.retentionSeconds = 0 }.store(for: "alice")
        defer { store.close() }
        #expect(try !store.retire(against: StoreAddress(.sqlite, path: late), by: "a test").isRemoved)
        #expect { try store.retire(against: StoreAddress(.sqlite, path: early), by: "a test") } throws: {
            "\($0)".contains("does not say that it is of the sqlite store, since")
        }
        #expect(FileManager.default.fileExists(atPath: try user.address(.old).path))
    }

    /// The serving store was given as the backup, and its loss was checked against itself.
    @Test func whatWasLeftIsVerifiedWhateverBackupIsGiven() throws {
        let (user, store) = try completed()
        defer { store.close() }
        try user.withStore(.new, .readWrite) { try $0.loseARecord() }
        #expect(try !store.retire(against: user.address(.new), by: "a test").isRemoved)
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

    /// A process that dies between recording the retirement and deleting the files leaves a store that is never served.
    @Test func aRetirementThatWasBegunIsFinished() throws {
        let (user, store) = try completed()
        defer { store.close() }
        let open = try store.files.lease().user
        let actual = try open.currentRoute().actual
        #expect(open.record([.retired(engine: .sqlite, epoch: actual.epoch, token: actual.token, by: "a test")]))
        try open.withSwitch { try $0.change.disown(.sqlite) }
        #expect(try open.pair.status(.sqlite)?.role == .backfilling)
        // History may be pruned in the meantime: nothing is verified again.
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

    /// Checkpoints of earlier versions do not say when a user reached a stage: the time runs from the checkpoint.
    @Test func anEarlierCheckpointBeginsTheTimeAnew() throws {
        func record(_ second: Double, _ event: EvidenceEvent) -> EvidenceRecord {
            let time = Date(timeIntervalSince1970: second)
            return EvidenceRecord(sequence: 1, time: time, event: event, previous: "", hash: "")
        }
        var evidence = StageEvidence()
        evidence.take(
            record(1_000, .stageChanged(from: .rampdown, to: .complete, epoch: 7, token: .zero, reason: .promoted))
        )
        #expect(evidence.since == EvidenceInstant(Date(timeIntervalSince1970: 1_000)))
        var text = try #require(JSONSerialization.jsonObject(with: JSONEncoder().encode(evidence)) as? [String: Any])
        text["since"] = nil
        var earlier = try JSONDecoder().decode(StageEvidence.self, from: JSONSerialization.data(withJSONObject: text))
        #expect(earlier.since == nil)
        let checkpoint = EvidenceCheckpoint(records: 1, anchor: nil, evidence: earlier)
        earlier.take(record(2_000, .checkpoint(checkpoint)), counts: false)
        #expect(earlier.since == nil)
        earlier.take(record(3_000, .checkpoint(checkpoint)))
        #expect(earlier.since == EvidenceInstant(Date(timeIntervalSince1970: 3_000)))
        #expect(earlier.at(.complete).since == earlier.since)
        #expect(earlier.at(.live).since == nil)
    }

    /// A process died before it recorded the move's line in a store: the time runs from the next attempt.
    @Test func aTimeThatNobodyVouchesForBeginsWithTheFirstTry() throws {
        let (user, store) = try completed(retentionSeconds: 3_600)
        defer { store.close() }
        let epoch = try store.files.lease().user.currentRoute().actual.epoch
        for (from, to) in [(Stage.complete, Stage.off), (.rampdown, .complete)] {
            let event = EvidenceEvent.stageChanged(from: from, to: to, epoch: epoch, token: .zero, reason: .promoted)
            try EvidenceLog(user.directory).append([event], at: Date(timeIntervalSinceNow: -86_400 * 365))
        }
        for _ in 0..<2 {
            let reasons = try store.retire(by: "a test").decision.reasons
            #expect(reasons.map(\.kind) == ["retentionNotOver"])
        }
        let open = try store.files.lease().user
        let trust = open.context.evidence.trust(try open.currentRoute().actual, open.pair)
        let since = try #require(try EvidenceLog(user.directory).summary(trust).evidence.at(.complete).since)
        #expect(abs(since.date.timeIntervalSinceNow) < 300)
    }

    /// A forger who can add a line could date the user's arrival a year back.
    @Test(arguments: [false, true]) func theTimeOfALineThatDoesNotCountIsNotBelieved(hasKey: Bool) throws {
        let user = try StagedUser()
        let keys = try EvidenceKeys([Data(String(repeating: "k", count: 32).utf8)])
        let stores = try user.stores {
            $0.gate.retentionSeconds = 3_600
            $0.evidenceKeys = hasKey ? keys : nil
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
