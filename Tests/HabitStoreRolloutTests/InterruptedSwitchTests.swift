import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A switch interrupted at any step leaves the user on a store that is current and takes writes.
struct InterruptedSwitchTests {
    private struct Stop: Error {}

    /// A user with data on `engine`.
    private func fixture(on engine: EngineName) throws -> UserStoresFixture {
        let fixture = try UserStoresFixture(engine)
        try fixture.with { try SampleRecords.fill($0) }
        return fixture
    }

    /// Expects all data, a working write, and that the next switch succeeds.
    private func expectIntact(
        _ fixture: UserStoresFixture,
        on engine: EngineName,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try fixture.want(engine)
        try fixture.with { opened in
            #expect(try opened.engine() == engine, sourceLocation: sourceLocation)
            #expect(try opened.all(Entry.self).count == 20, sourceLocation: sourceLocation)
            try opened.save(Habit(id: SampleRecords.id(60), name: "After"))
        }
        try fixture.want(engine.otherStandard)
        try fixture.with { opened in
            let (entries, added) = try opened.read { transaction in
                (try transaction.all(Entry.self), try transaction.model(Habit.self, id: SampleRecords.id(60)))
            }
            #expect(try opened.engine() == engine.otherStandard, "\(opened.notes)", sourceLocation: sourceLocation)
            #expect(entries.count == 20, sourceLocation: sourceLocation)
            #expect(added?.name == "After", sourceLocation: sourceLocation)
        }
    }

    /// Only the new file had been made: it passed for the authoritative store, as any new file does, and if the user's engine was examined second,
    /// the user got the empty store.
    @Test(arguments: EngineName.standard)
    func killedRightAfterTheOtherFileWasMade(engine: EngineName) throws {
        let fixture = try fixture(on: engine)
        try fixture.address(engine.otherStandard).open(.create, schema: HabitSchema.current).close()
        #expect(try fixture.stores().currentAddress(of: "alice").engine == engine)
        try expectIntact(fixture, on: engine)
    }

    /// The new file was made, and then the current one became unreadable: the empty one must not replace it.
    @Test(arguments: EngineName.standard)
    func anEmptyStoreIsNeverServedBesideADamagedOne(engine: EngineName) throws {
        let fixture = try fixture(on: engine)
        try fixture.address(engine.otherStandard).open(.create, schema: HabitSchema.current).close()
        let path = try fixture.address(engine).path
        try Data("this was a store once".utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: HabitStoreError.self) { try fixture.with { _ in } }
        #expect(throws: HabitStoreError.self) { try fixture.stores().currentAddress(of: "alice") }
    }

    /// The same for a user whose store predates epochs.
    @Test(arguments: EngineName.standard)
    func killedRightAfterTheOtherFileWasMadeForAStoreInEpochZero(engine: EngineName) throws {
        let fixture = try fixture(on: engine)
        try fixture.setRole(engine, .authoritative, epoch: 0)
        try FileManager.default.removeItem(atPath: try fixture.directory().path + "/control")
        try fixture.address(engine.otherStandard).open(.create, schema: HabitSchema.current).close()
        try expectIntact(fixture, on: engine)
    }

    @Test(arguments: EngineName.standard)
    func killedInTheMiddleOfTheCopy(engine: EngineName) throws {
        let fixture = try fixture(on: engine)
        try fixture.file(engine) { source in
            let target = try fixture.address(engine.otherStandard).open(.create, schema: HabitSchema.current)
            defer { target.close() }
            #expect(throws: Stop.self) {
                _ = try Backfill(from: source, to: target, chunk: 5).run { if $0.done > 6 { throw Stop() } }
            }
        }
        #expect(try fixture.information(engine.otherStandard).role == .backfilling)
        try expectIntact(fixture, on: engine)
    }

    @Test(arguments: EngineName.standard)
    func killedWhileTheCurrentStoreWasSealed(engine: EngineName) throws {
        let fixture = try fixture(on: engine)
        try fixture.file(engine) { source in
            let target = try fixture.address(engine.otherStandard).open(.create, schema: HabitSchema.current)
            defer { target.close() }
            _ = try Backfill(from: source, to: target).run()
        }
        try fixture.setRole(engine, .sealed, epoch: 1)
        #expect(try fixture.stores().currentAddress(of: "alice").engine == engine)
        try expectIntact(fixture, on: engine)
    }

    @Test(arguments: EngineName.standard)
    func killedAfterTheRoleWasHandedOver(engine: EngineName) throws {
        let fixture = try fixture(on: engine)
        try fixture.file(engine) { source in
            let target = try fixture.address(engine.otherStandard).open(.create, schema: HabitSchema.current)
            defer { target.close() }
            _ = try Backfill(from: source, to: target).run()
        }
        try fixture.setRole(engine, .sealed, epoch: 1)
        try fixture.setRole(engine.otherStandard, .authoritative, epoch: 2)
        #expect(try fixture.stores().currentAddress(of: "alice").engine == engine.otherStandard)
        try expectIntact(fixture, on: engine.otherStandard)
        #expect(try fixture.information(engine).role == .authoritative)
    }

    @Test(arguments: EngineName.standard)
    func aStandbyIsNeverServedInPlaceOfAMissingStore(engine: EngineName) throws {
        let fixture = try fixture(on: engine)
        try fixture.want(engine.otherStandard)
        try fixture.with { try $0.save(Habit(name: "newer")) }
        let current = try fixture.address(engine.otherStandard).path
        let all = try FileManager.default.contentsOfDirectory(atPath: fixture.directory().path)
        for file in all where file.hasPrefix(URL(fileURLWithPath: current).lastPathComponent) {
            try FileManager.default.removeItem(atPath: fixture.directory().path + "/" + file)
        }
        for wanted in EngineName.standard {
            try fixture.want(wanted)
            let error = #expect(throws: HabitStoreError.self) { _ = try fixture.stores().store(for: "alice") }
            #expect(error?.code == .notAuthoritative)
        }
        #expect(!FileManager.default.fileExists(atPath: current))
        #expect(try fixture.information(engine).role == .standby)
    }

    @Test(arguments: EngineName.standard)
    func aStandbyIsNeverServedInPlaceOfADamagedStore(engine: EngineName) throws {
        let fixture = try fixture(on: engine)
        try fixture.want(engine.otherStandard)
        try fixture.with { try $0.save(Habit(name: "newer")) }
        try Data(repeating: 0x5A, count: 50_000).write(
            to: URL(fileURLWithPath: try fixture.address(engine.otherStandard).path)
        )
        let error = #expect(throws: HabitStoreError.self) { _ = try fixture.stores().store(for: "alice") }
        #expect([.corrupt, .notAStore].contains(error?.code))
    }

    @Test(arguments: EngineName.standard)
    func whereTheOtherFileIsNoStoreTheUserStaysAndIsToldWhy(engine: EngineName) throws {
        let fixture = try fixture(on: engine)
        let garbage = Data(repeating: 0x5A, count: 50_000)
        let path = try fixture.address(engine.otherStandard).path
        try garbage.write(to: URL(fileURLWithPath: path))
        try fixture.want(engine.otherStandard)
        try fixture.with { opened in
            #expect(try opened.engine() == engine)
            #expect(opened.notes.count == 1)
            #expect(opened.notes.first?.hasPrefix("stays on \(engine.rawValue): ") == true)
            #expect(try opened.all(Entry.self).count == 20)
            try opened.save(Habit(name: "still takes writes"))
        }
        #expect(FileManager.default.contents(atPath: path) == garbage)
    }

    @Test(arguments: EngineName.standard)
    func whereTheVerificationFindsADifferenceTheUserStaysAndIsToldWhy(engine: EngineName) throws {
        let fixture = try fixture(on: engine)
        try fixture.want(engine.otherStandard)
        try fixture.with { _ in }
        try fixture.want(engine)
        try fixture.with { _ in }
        // The standby is at the same token, but one entry has a different note.
        let entry = SampleRecords.entry(100)
        let record = try EncodedRecord(
            [.uuid(entry.id), .date(entry.date), .string("other"), .null, .uuid(SampleRecords.id(2))],
            layout: Entry.entity.layout
        )
        try fixture.file(engine.otherStandard) { try $0.replicate { try $0.put(entity: 1, id: entry.id, record) } }
        try fixture.want(engine.otherStandard)
        try fixture.with { opened in
            #expect(try opened.engine() == engine)
            #expect(opened.notes.first?.contains("1 difference") == true)
            #expect(try opened.model(Entry.self, id: entry.id)?.note == nil)
            try opened.save(Habit(name: "still takes writes"))
        }
        #expect(try fixture.information(engine).role == .authoritative)
    }

    /// An engine switch that was killed, or whose verification was not clean, marked its flag file as followed. The file was never followed again,
    /// and the user saw that flag files disagree. Now the next opening retries such a switch.
    @Test(arguments: EngineName.standard)
    func aToggleThatCameToNothingIsTriedAgainByTheSameFlagFile(engine: EngineName) throws {
        let fixture = try fixture(on: engine)
        try fixture.want(engine.otherStandard)
        try fixture.with { _ in }
        try fixture.want(engine)
        try fixture.with { _ in }
        let entry = SampleRecords.entry(100)
        let layout = Entry.entity.layout
        let right = try fixture.file(engine.otherStandard) {
            try $0.replicaRead { try $0.record(entity: 1, id: entry.id) }
        }
        let wrong = try EncodedRecord(
            [.uuid(entry.id), .date(entry.date), .string("other"), .null, .uuid(SampleRecords.id(2))],
            layout: layout
        )
        try fixture.file(engine.otherStandard) { try $0.replicate { try $0.put(entity: 1, id: entry.id, wrong) } }
        try fixture.want(engine.otherStandard)
        #expect(try fixture.with { try $0.engine() } == engine)
        try fixture.with { #expect($0.notes.first?.contains("1 difference") == true) }
        let record = try #require(right)
        try fixture.file(engine.otherStandard) { try $0.replicate { try $0.put(entity: 1, id: entry.id, record) } }
        #expect(try fixture.with { try $0.engine() } == engine.otherStandard)
    }

    @Test(arguments: EngineName.standard)
    func dataOfAnotherOriginBesideItIsNotOverwritten(engine: EngineName) throws {
        let fixture = try fixture(on: engine)
        let foreign = try fixture.address(engine.otherStandard).open(.create, schema: HabitSchema.current)
        try foreign.save(Habit(name: "foreign"))
        foreign.close()
        try fixture.want(engine.otherStandard)
        try fixture.with { opened in
            let served = try opened.engine()
            #expect(served == engine)
            #expect(opened.notes.first?.contains("another origin") == true)
        }
        #expect(try fixture.file(engine.otherStandard) { try fixture.names($0) } == ["foreign"])
    }

    @Test func aSwitchByAnotherProcessIsSeenInsideTheTransaction() throws {
        let fixture = try fixture(on: .sqlite)
        let directory = try fixture.directory()
        let pair = StorePair(directory: directory, schema: HabitSchema.current, engines: .standard)
        defer { pair.close() }
        let change = StageSwitch(
            pair: pair,
            control: try ControlFile(path: directory.path + "/control"),
            stepLimitSeconds: 5
        )
        let actual = try #require(try change.recover(Engines.standard.pair(old: .sqlite)))
        let current = try pair.store(.sqlite)
        _ = try Backfill(from: current, to: try pair.create(.lmdb)).run()
        try current.replicate { try $0.setRole(.authoritative, epoch: actual.epoch + 2) }
        let error = #expect(throws: HabitStoreError.self) { _ = try change.move(actual, to: .complete) }
        #expect(error?.code == .notAuthoritative)
        #expect(try current.information().role == .authoritative)
    }
}
