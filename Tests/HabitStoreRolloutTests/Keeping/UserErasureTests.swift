import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitTracker
import StandardEngines
import Synchronization
import Testing

@testable import HabitStoreRollout

/// Erasure removes everything stored about a user, and nothing left of it is served in the meantime.
struct UserErasureTests {
    private static let secret = "a secret of this user only"
    private let manager = FileManager.default

    /// The files below a path that contain a text or have it in their names.
    private func traces(of text: String, below path: String) throws -> [String] {
        let names = try #require(manager.enumerator(atPath: path)).compactMap { $0 as? String }
        return names.filter { name in
            if name.contains(text) || name.contains(text.utf8.map { String(format: "%02x", $0) }.joined()) {
                return true
            }
            guard let data = manager.contents(atPath: path + "/" + name) else { return false }
            return data.firstRange(of: Data(text.utf8)) != nil
        }
    }

    @Test(arguments: EngineName.standard, Stage.allCases) func nothingIsLeftOfTheUser(old: EngineName, stage: Stage)
        throws
    {
        let kept = try KeptUser(at: stage, old: old)
        try kept.write(Self.secret)
        let other = try kept.user.stores().store(for: "bob")
        try other.save(Draft(content: "bob's"))
        other.close()
        let backup = try kept.backUp()
        try kept.restore(backup, replacing: true)
        try manager.createDirectory(
            atPath: kept.path + "/rehearsal-copies/users",
            withIntermediateDirectories: true
        )
        try Data(Self.secret.utf8).write(to: URL(fileURLWithPath: kept.path + "/rehearsal-copies/users/x"))
        try Data(Self.secret.utf8).write(to: URL(fileURLWithPath: kept.path + "/store.sqlite-adopted-3"))
        #expect(try !traces(of: Self.secret, below: kept.user.folder.path("")).isEmpty)
        let before = try kept.names()
        let dry = try kept.user.stores().erase("alice", isDry: true)
        #expect(!dry.isDone && dry.items.contains { $0.kind == "backup" && $0.place == backup.path })
        let path = try kept.path
        #expect(Set(dry.items.map(\.place)).isSuperset(of: before.map { path + "/" + $0 }))
        #expect(try kept.names() == before)
        let outcome = try kept.user.stores().erase("alice")
        #expect(outcome.isDone && outcome.items.map(\.place) == dry.items.map(\.place))
        #expect(try traces(of: Self.secret, below: kept.user.folder.path("")) == [])
        #expect(try traces(of: "alice", below: kept.user.folder.path("")) == [])
        #expect(try kept.user.stores().users().users == ["bob"])
        #expect { try kept.user.stores().erase("alice") } throws: { ($0 as? HabitStoreError)?.code == .notFound }
        #expect { try kept.user.stores().requireUser("alice") } throws: { ($0 as? HabitStoreError)?.code == .notFound }
        let bob = try kept.user.stores().store(for: "bob")
        defer { bob.close() }
        #expect(try bob.all(Draft.self).count == 1)
    }

    @Test func whoHasTheUserOpenKeepsAnErasureAway() throws {
        let kept = try KeptUser(at: .live)
        let store = try kept.user.stores().store(for: "alice")
        #expect { try kept.user.stores().erase("alice") } throws: { ($0 as? HabitStoreError)?.code == .busy }
        #expect(try store.all(Draft.self).count == 2)
        store.close()
        // The handle still exists, but the user is no longer open.
        #expect(try kept.user.stores().erase("alice").isDone)
        _ = store
    }

    /// A user whose files were closed to make room for others is not open: the next operation finds no user, and creates none.
    @Test func aHandleWhoseFilesAreClosedMakesNobodyAnew() throws {
        let kept = try KeptUser(at: .off)
        let stores = try kept.user.stores { $0.maximumOpenUsers = 1 }
        let store = try stores.store(for: "alice")
        let other = try stores.store(for: "bob")
        try other.save(Draft(content: "bob's"))
        #expect(try kept.user.stores().erase("alice").isDone)
        #expect { try store.save(Draft(content: "ghost")) } throws: { ($0 as? HabitStoreError)?.code == .notFound }
        #expect { try store.all(Draft.self) } throws: { ($0 as? HabitStoreError)?.code == .notFound }
        #expect(try !manager.fileExists(atPath: kept.path))
        store.close()
        other.close()
    }

    @Test(arguments: EngineName.standard, Stage.allCases)
    func whoIsFencedOutFailsWithTheNextOperation(old: EngineName, stage: Stage) throws {
        let kept = try KeptUser(at: stage, old: old)
        let store = try kept.user.stores().store(for: "alice")
        defer { store.close() }
        #expect(try store.all(Draft.self).count == 2)
        #expect(try kept.user.stores().erase("alice", isForced: true).isDone)
        for _ in 0..<3 {
            let error = #expect(throws: HabitStoreError.self) { try store.save(Draft(content: "ghost")) }
            #expect(error?.code == .notFound, "\(error.map { "\($0)" } ?? "")")
            #expect(throws: HabitStoreError.self) { try store.all(Draft.self) }
        }
        #expect(try !manager.fileExists(atPath: kept.path))
        #expect(try traces(of: "ghost", below: kept.user.folder.path("")) == [])
    }

    /// A writer that slept inside its transaction is refused when it wakes.
    @Test(arguments: EngineName.standard, Stage.allCases)
    func aWriterThatSleptThroughAnErasureIsTold(old: EngineName, stage: Stage) throws {
        let kept = try KeptUser(at: stage, old: old)
        let writer = try kept.user.stores().store(for: "alice")
        defer { writer.close() }
        let (asleep, woken, ended) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        let outcome = Mutex<Result<Void, any Error>?>(nil)
        Thread.detachNewThread {
            let result = Result {
                try writer.write(author: nil) { transaction in
                    try transaction.insert(Draft(content: "asleep"))
                    asleep.signal()
                    woken.wait()
                }
            }
            outcome.withLock { $0 = result }
            ended.signal()
        }
        asleep.wait()
        let stores = try kept.user.stores { $0.stepLimitSeconds = 0.5 }
        #expect { try stores.erase("alice") } throws: { ($0 as? HabitStoreError)?.code == .busy }
        #expect(try stores.erase("alice", isForced: true).isDone)
        woken.signal()
        ended.wait()
        #expect(throws: HabitStoreError.self) { try outcome.withLock { try $0?.get() } }
        #expect(try !manager.fileExists(atPath: kept.path))
        #expect(throws: HabitStoreError.self) { try writer.save(Draft(content: "ghost")) }
        #expect(try !manager.fileExists(atPath: kept.path))
    }

    /// A user whose erasure has begun is not served in any way until it is finished.
    @Test func aUserWhoIsBeingErasedIsNeverServed() throws {
        let kept = try KeptUser(at: .live)
        let backup = try kept.backUp()
        try ErasureTombstone(kept.user.directory).make()
        let stores = try kept.user.stores()
        #expect(throws: HabitStoreError.self) { try kept.contents() }
        #expect(throws: HabitStoreError.self) { try stores.currentAddress(of: "alice") }
        #expect(throws: HabitStoreError.self) { try stores.existingAddresses(of: "alice") }
        #expect(throws: HabitStoreError.self) { try stores.status(of: "alice") }
        #expect(throws: HabitStoreError.self) { try stores.adopt(.sqlite, for: "alice", by: "a test", because: "") }
        #expect(throws: HabitStoreError.self) { try kept.restore(backup, replacing: true) }
        #expect(throws: HabitStoreError.self) { try kept.backUp("second") }
        #expect(try stores.examine("alice").map(\.kind) == [.interrupted])
        #expect(try stores.mend("alice").map(\.kind) == [.interrupted])
        #expect(try stores.erase("alice").isDone)
        #expect(try traces(of: "alice", below: kept.user.folder.path("")) == [])
    }

    @Test func backupsThatCannotBeReachedAreNamed() throws {
        let kept = try KeptUser(at: .off)
        let (moved, damaged, filled) = (try kept.backUp("moved"), try kept.backUp("damaged"), try kept.backUp("filled"))
        try manager.moveItem(atPath: moved.path, toPath: kept.user.folder.path("elsewhere"))
        try Data("{}".utf8).write(to: URL(fileURLWithPath: damaged.path + "/manifest.json"))
        try Data("a note".utf8).write(to: URL(fileURLWithPath: filled.path + "/note.txt"))
        let outcome = try kept.user.stores().erase("alice")
        for backup in [moved, damaged, filled] {
            #expect(outcome.unreachable.contains { $0.contains(backup.path) }, "\(backup.path)")
        }
        #expect(try manager.contentsOfDirectory(atPath: filled.path) == ["note.txt"])
        #expect(manager.fileExists(atPath: damaged.path + "/store.sqlite"))
    }

    /// A flag file that names the user is reported, because the operator must edit it.
    @Test func aFlagFileThatNamesTheUserIsNamed() throws {
        let kept = try KeptUser(at: .off)
        #expect(
            try !kept.user.stores().erase("alice", isDry: true).unreachable.contains { $0.contains(kept.user.flags) }
        )
        let text = try String(contentsOfFile: kept.user.flags, encoding: .utf8)
        try Data(text.replacing("\"flags\":", with: "\"metadata\": {\"for\": \"alice\"}, \"flags\":").utf8)
            .write(to: URL(fileURLWithPath: kept.user.flags))
        #expect(
            try kept.user.stores().erase("alice", isDry: true).unreachable.contains { $0.contains(kept.user.flags) }
        )
    }

    /// Data kept outside the user's root is removed first; if that fails, the user stays unchanged.
    @Test func whoRefusesAboveKeepsTheUser() throws {
        let kept = try KeptUser(at: .off)
        let refusal = HabitStoreError(.busy, "a run is at work")
        let elsewhere = ExternalErasure(find: { _ in ([], []) }, remove: { _ in throw refusal })
        #expect(throws: HabitStoreError.self) { try kept.user.stores().erase("alice", elsewhere: elsewhere) }
        #expect(try kept.contents() == ["a", "b"])
    }

    /// Stores without files are removed as well.
    @Test func aStoreInMemoryIsForgotten() throws {
        let engines = try Engines([SQLiteProvider(), InMemoryProvider()])
        let user = try StagedUser(old: .sqlite, new: .memory, engines: engines)
        let store = try user.stores().store(for: "alice")
        try store.save(Draft(content: "a"))
        try user.bring(store, to: .complete) { _ = try $0.all(Draft.self) }
        store.close()
        #expect { try user.stores().backUp("alice", to: user.folder.path("b")) } throws: {
            "\($0)".contains("is not in a file")
        }
        #expect(try user.stores().erase("alice").isDone)
        #expect(try engines.identity(of: user.address(.new)) == nil)
    }
}
