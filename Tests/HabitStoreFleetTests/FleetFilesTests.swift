import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker
import RolloutTesting
import Testing

@testable import HabitStoreFleet

/// If a fleet's files are damaged, missing or not writable, it prints one line and moves no user.
struct FleetFilesTests {
    private func refused(_ test: TestFleet, _ words: String) throws {
        #expect { try test.run() } throws: { "\($0)".contains(words) && !"\($0)".contains("\n") }
        #expect(try test.stages().values.allSatisfy { $0 == .off })
    }

    @Test func withoutAPlanNobodyIsMoved() throws { try refused(TestFleet(1), "there is no plan here") }

    @Test func aDamagedIndexIsMadeAnewFromTheStores() throws {
        let test = try TestFleet(3)
        _ = try test.draw(TestFleet.twoWaves)
        let folder = FleetFolder(root: test.root)
        for ending in ["-wal", "-shm"] { unlink(folder.index + ending) }
        try Data("no database, for certain".utf8).write(to: URL(fileURLWithPath: folder.index))
        try refused(test, "the fleet's index is damaged")
        #expect(try test.fleet.rebuild(test.stores()) { _, _ in } == 3)
        #expect(try test.run().end == .done(passedOver: 0))
        #expect(try test.fleet.rebuild(test.stores()) { _, _ in } == 3)
        #expect(try test.fleet.status().waves.map { $0.stages[.complete] } == [2, 1])
        #expect(try test.fleet.audit(test.stores(), sample: 2, seed: 7).findings.isEmpty)
    }

    /// How an index is damaged.
    enum Damage: String, CaseIterable {
        case garbage, empty, cut, header, noMembers, noWords, otherColumns, otherVersion
    }

    @Test(arguments: Damage.allCases) func anIndexThatIsDamagedMovesNobody(_ damage: Damage) throws {
        let test = try TestFleet(3)
        _ = try test.draw(TestFleet.twoWaves)
        let path = FleetFolder(root: test.root).index
        let whole = try #require(FileManager.default.contents(atPath: path))
        func put(_ data: Data) throws { try data.write(to: URL(fileURLWithPath: path)) }
        func run(_ sql: String) throws { try IndexDatabase(path, mayMake: false).run(sql) }
        switch damage {
        case .garbage: try put(Data((0..<whole.count).map { UInt8(truncatingIfNeeded: $0 &* 7) }))
        case .empty: try put(Data())
        case .cut: try put(whole.prefix(whole.count / 2))
        case .header: try put(Data(whole.prefix(20)) + Data([0xFF, 0xFF]) + whole.dropFirst(22))
        case .noMembers: try run("DROP TABLE member")
        case .noWords: try run("DROP TABLE word")
        case .otherColumns: try run("ALTER TABLE member DROP COLUMN reasons")
        case .otherVersion: try run("PRAGMA user_version = 99")
        }
        try refused(test, "habitstore fleet audit --rebuild")
        // The repair that the message names.
        #expect(try test.fleet.rebuild(test.stores()) { _, _ in } == 3)
        #expect(try test.run().end == .done(passedOver: 0))
    }

    /// Flipped bits are found or do no harm: the stores decide.
    @Test func bitsThatFallOverInAnIndexMoveNobodyTwice() throws {
        let seed = UInt64.random(in: 0...99_999)
        var generator = SeededGenerator(seed: seed)
        let test = try TestFleet(3)
        _ = try test.draw(TestFleet.twoWaves)
        let path = FleetFolder(root: test.root).index
        for round in 0..<6 {
            _ = try test.fleet.rebuild(test.stores()) { _, _ in }
            var bytes = try #require(FileManager.default.contents(atPath: path))
            let head = Data(try #require(try FleetIndex.open(FleetFolder(root: test.root)).word(FleetIndex.head)).utf8)
            for _ in 0..<4 {
                let (place, bit) = (
                    Int.random(in: 0..<bytes.count, using: &generator), UInt8.random(in: 0..<8, using: &generator)
                )
                // A wrong ledger position is indistinguishable from missing ledger lines, which are always refused.
                let around = max(0, place - head.count + 1)..<min(bytes.count, place + head.count)
                if bytes[around].range(of: head) == nil { bytes[place] ^= 1 << bit }
            }
            try bytes.write(to: URL(fileURLWithPath: path))
            do {
                // A wrong row may halt the fleet, and an operator resumes it.
                if case .halted = try test.run().end { try test.fleet.resume(by: "a test", because: "seen") }
            } catch let error as HabitStoreError {
                #expect(!"\(error)".contains("\n"), "seed \(seed), round \(round): \(error)")
            }
            #expect(try test.promotions().values.allSatisfy { $0 <= 5 }, "seed \(seed), round \(round)")
        }
        _ = try test.fleet.rebuild(test.stores()) { _, _ in }
        #expect(try test.run().end == .done(passedOver: 0), "seed \(seed)")
        #expect(try test.promotions().values.allSatisfy { $0 == 5 }, "seed \(seed)")
    }

    @Test func anAuditFindsWhoIsNotAsTheIndexSays() throws {
        let test = try TestFleet(3)
        _ = try test.draw(TestFleet.twoWaves)
        _ = try test.run()
        let store = try test.stores().store(for: "user-1")
        try store.demote(to: .off)
        store.close()
        let audit = try test.fleet.audit(test.stores(), sample: nil, seed: 1)
        #expect(audit.findings.map(\.user) == ["user-1"])
        #expect(audit.findings[0].message.contains("complete") && audit.findings[0].message.contains("off"))
    }

    @Test(arguments: ["began", "drawn", "seq"]) func aLedgerThatWasChangedIsRefused(_ word: String) throws {
        let test = try TestFleet(2)
        _ = try test.draw(TestFleet.twoWaves)
        try test.fleet.pause(by: "a test", because: "began")
        _ = try test.fleet.resume(by: "a test", because: "drawn")
        let path = test.fleet.ledger.path
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try text.replacing(word, with: "x" + word.dropFirst()).write(toFile: path, atomically: false, encoding: .utf8)
        try refused(test, "the fleet's ledger is damaged in line")
    }

    /// A process that dies in the middle of a line has not reported it.
    @Test func halfALineIsNoDamage() throws {
        let test = try TestFleet(2)
        _ = try test.draw(TestFleet.twoWaves)
        let path = test.fleet.ledger.path
        let whole = try #require(FileManager.default.contents(atPath: path))
        try (whole + Data("{\"hash\":\"".utf8)).write(to: URL(fileURLWithPath: path))
        #expect(try test.run().end == .done(passedOver: 0))
        #expect(try test.fleet.ledger.read().damagedLine == nil)
    }

    /// The index reveals lines truncated from the end.
    @Test func aLedgerThatWasCutIsRefused() throws {
        let test = try TestFleet(2)
        _ = try test.draw(TestFleet.twoWaves)
        let path = test.fleet.ledger.path
        let drawn = try #require(FileManager.default.contents(atPath: path))
        #expect(try test.run().end == .done(passedOver: 0))
        try drawn.write(to: URL(fileURLWithPath: path))
        func requireRefused() throws {
            let line = try #require(try test.fleet.readLedger().damagedLine)
            #expect(line == 2)
            #expect(try test.fleet.status().damagedLine == line)
            #expect { try test.run() } throws: { "\($0)".contains("lacks lines from there on") }
            #expect { try test.fleet.forget("user-1") } throws: { "\($0)".contains("lacks lines from there on") }
        }
        try requireRefused()
        // A rebuilt index still knows of them.
        #expect(try test.fleet.rebuild(test.stores()) { _, _ in } == 2)
        try requireRefused()
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(try test.fleet.readLedger().damagedLine == 1)
    }

    /// The index was missing while it was rebuilt: a process that died in the middle left a fleet that answered nothing.
    @Test func anIndexThatIsNotMadeToTheEndChangesNothing() throws {
        struct Stopped: Error {}
        let test = try TestFleet(2)
        let members = try test.draw(TestFleet.twoWaves)
        let folder = test.fleet.folder
        #expect(throws: Stopped.self) {
            try FleetIndex.make(folder, members, head: nil) { _ in throw Stopped() }
        }
        #expect(FileManager.default.fileExists(atPath: folder.indexDraft))
        #expect(try test.fleet.status().waves.reduce(0) { $0 + $1.users } == 2)
        #expect(try test.run().end == .done(passedOver: 0))
        #expect(try test.fleet.forget("user-1"))
        #expect(!FileManager.default.fileExists(atPath: folder.indexDraft))
    }

    /// Other waves were run until none had their number, and the process crashed.
    @Test func aKeptPlanWithOtherWavesIsRefused() throws {
        let test = try TestFleet(2)
        _ = try test.draw(TestFleet.twoWaves)
        let path = FleetFolder(root: test.root).plan + ".json"
        try Data(#"{"waves": [{"name": "zz", "percent": 100}]}"#.utf8).write(to: URL(fileURLWithPath: path))
        try refused(test, "the waves were drawn already")
    }

    @Test func wavesAreNotDrawnAgainWhereTheirMembersAreGone() throws {
        let test = try TestFleet(2)
        _ = try test.draw(TestFleet.twoWaves)
        #expect(unlink(FleetFolder(root: test.root).members) == 0)
        try refused(test, "put the file back")
        #expect { try test.draw(TestFleet.twoWaves) } throws: {
            "\($0)".contains("the file of their members is missing")
        }
    }

    /// A misspelt root was created, and the intended fleet continued.
    @Test func nothingIsHaltedWhereThereIsNoFleet() throws {
        let test = try TestFleet(1)
        let fleet = Fleet(root: test.root + "-misspelt")
        #expect { try fleet.halt(by: "a test", because: "x") } throws: { "\($0)".contains("there is no fleet") }
        #expect(!FileManager.default.fileExists(atPath: test.root + "-misspelt"))
    }

    /// The run waited forever for a user who was missing in the index.
    @Test func aRowThatIsMissingInTheIndexIsAdded() throws {
        let test = try TestFleet(2)
        _ = try test.draw(TestFleet.twoWaves)
        let database = try IndexDatabase(FleetFolder(root: test.root).index, mayMake: false)
        try database.run("DELETE FROM member WHERE user = 'user-1'")
        #expect(try test.run().end == .done(passedOver: 0))
        #expect(try test.stages().values.allSatisfy { $0 == .complete })
    }

    /// A run writes the line of a join before the members. After two runs that died in between, the fleet was refused as corrupt.
    @Test func aJoinThatSeveralRunsDidNotFinishIsFinished() throws {
        let test = try TestFleet(2)
        _ = try test.draw(TestFleet.twoWaves)
        let store = try test.stores().store(for: "late")
        try store.save(Habit(name: "Run"))
        store.close()
        for digit in 1...3 {
            try test.fleet.ledger.append(.joined(users: 1, digest: String(repeating: "\(digit)", count: 64)))
        }
        #expect(try test.run().end == .done(passedOver: 0))
        #expect(try test.stores().status(of: "late").stage == .complete)
        #expect(try test.fleet.members().members.count == 3)
    }

    @Test func membersOfAnotherDrawingAreRefused() throws {
        let (test, other) = (try TestFleet(2), try TestFleet(2))
        _ = try test.draw(TestFleet.twoWaves)
        _ = try other.draw(TestFleet.twoWaves)
        let (mine, theirs) = (FleetFolder(root: test.root).members, FleetFolder(root: other.root).members)
        try #require(FileManager.default.contents(atPath: theirs)).write(to: URL(fileURLWithPath: mine))
        try refused(test, "are not those in the ledger")
    }

    @Test(.enabled(if: getuid() != 0, "root writes anyway"))
    func aFolderThatCannotBeWrittenMovesNobody() throws {
        let test = try TestFleet(2)
        _ = try test.draw(TestFleet.twoWaves)
        let folder = FleetFolder(root: test.root).path
        chmod(folder, 0o500)
        defer { chmod(folder, 0o700) }
        try refused(test, "cannot be written")
    }
}
