import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// Only `store.sqlite` was restored from an older backup: it still called itself authoritative, was believed, and the user was silently served old
/// data while new writes went into a branch. Each part of a user's folder may be current, older, missing, or another user's, in any combination. Then
/// either everything acknowledged is served, or a note says that it is not, or nothing is served and the error says what to do.
struct RestoredFilesTests {
    /// The outcome of opening a user.
    private enum Outcome: Equatable {
        case current
        /// There was nothing: opening creates a new user.
        case new
        case said(String)
        case refused(HabitStoreError.Code)
    }

    /// The codes of a refusal: never an error about something else.
    private static let refusals: Set<HabitStoreError.Code> = [.staleStore, .notAuthoritative]

    private func outcome(_ folder: RestoredFolder, _ states: [RestoredFolder.State]) throws -> Outcome {
        try folder.put(states)
        let isEmpty = try FileManager.default.contentsOfDirectory(atPath: folder.user.directory.path) == ["user"]
        let alone = try contentsWithoutOpening(folder)
        let store: UserStore
        do {
            store = try folder.user.stores().store(for: "alice")
        } catch let error as HabitStoreError {
            #expect(alone == nil, "\(states): a reader got what opening refuses")
            return .refused(error.code)
        }
        defer { store.close() }
        let contents = try store.all(Draft.self).map(\.content).sorted()
        #expect(alone == nil || alone == contents, "\(states): a reader got something else")
        #expect(
            contents.allSatisfy { RestoredFolder.all.contains($0) },
            "\(states): another user's records were served"
        )
        if isEmpty, contents.isEmpty { return .new }
        let notes = store.notes.joined(separator: "; ")
        return contents == RestoredFolder.all ? .current : .said(notes)
    }

    /// The contents that `query` and `export` read; nil if they are refused. They once read an older store at `live`, which only an opening brings up
    /// to date.
    private func contentsWithoutOpening(_ folder: RestoredFolder) throws -> [String]? {
        let address: StoreAddress
        do {
            address = try folder.user.stores().currentAddress(of: "alice")
        } catch is HabitStoreError {
            return nil
        }
        let store = try address.open(.readOnly, schema: HabitSchema.current)
        defer { store.close() }
        return try store.all(Draft.self).map(\.content).sorted()
    }

    @Test(arguments: [Stage.off, .shadow, .live, .rampdown, .complete])
    func aFolderPutTogetherFromParts(stage: Stage) throws {
        let folder = try RestoredFolder(at: stage)
        var figures: [String: Int] = [:]
        for states in RestoredFolder.combinations {
            let name = "at \(stage): " + states.map(\.rawValue).joined(separator: " ")
            switch try outcome(folder, states) {
            case .current: figures["current", default: 0] += 1
            case .said(let notes):
                figures["said", default: 0] += 1
                // Records are missing, which is possible only if everything there is older.
                #expect(!notes.isEmpty, "\(name): older data was served in silence")
                #expect(states[2] != .asItIs, "\(name): the control file knew, and older data was served (\(notes))")
            case .new: figures["new", default: 0] += 1
            case .refused(let code):
                figures["refused", default: 0] += 1
                #expect(Self.refusals.contains(code), "\(name): refused with \(code)")
                // With both stores current the user is served, whatever happened to the other files.
                #expect(states[0] != .asItIs || states[1] != .asItIs, "\(name): refused with \(code)")
            }
        }
        print("restored at \(stage): \(figures.sorted { $0.key < $1.key })")
    }

    /// An operator can accept a store that is not served, and give a reason; the user continues from there.
    @Test func aStoreThatWasPutBackIsServedOnceAPersonHasAcceptedIt() throws {
        let folder = try RestoredFolder(at: .complete)
        try folder.put([.asItIs, .older, .asItIs, .asItIs])
        let stores = try folder.user.stores()
        let error = #expect(throws: HabitStoreError.self) { try stores.store(for: "alice") }
        #expect(error?.code == .notAuthoritative)
        #expect(try stores.examine("alice").contains { $0.kind == .noneAuthoritative && !$0.canBeMended })
        #expect(try stores.mend("alice").contains { $0.kind == .noneAuthoritative })
        _ = try stores.adopt(.lmdb, for: "alice", by: "a test", because: "the new one is lost")
        let store = try stores.store(for: "alice")
        defer { store.close() }
        #expect(try store.stage() == .complete)
        #expect(try store.all(Draft.self).map(\.content).sorted() == ["a", "b"])
        try store.save(Draft(content: "e"))
        #expect(
            try store.files.context.evidence.log.read().records.contains { record in
                if case .adopted(.lmdb, _, "a test", "the new one is lost") = record.event { return true }
                return false
            }
        )
    }

    /// A folder was restored from an older backup without the new store's file, and the note said that the old store has everything that was
    /// acknowledged. But writes after the backup are in none of these files, and nothing in them can know of those. Only what is known is reported:
    /// the token, and whether the folder shows that it was restored.
    @Test(arguments: [true, false]) func nobodyIsToldThatAStoreHoldsWhatNoFileCanKnowOf(isInPlace: Bool) throws {
        let (user, backup) = (try StagedUser(), try TemporaryFolder())
        let store = try user.stores().store(for: "alice")
        try store.save(Draft(content: "a"))
        try user.bring(store, to: .live) { _ = try $0.all(Draft.self) }
        store.close()
        let (path, manager) = (try user.directory.path, FileManager.default)
        try manager.copyItem(atPath: path, toPath: backup.path("copy"))
        try user.with { try $0.save(Draft(content: "b")) }
        if isInPlace {
            for name in try manager.contentsOfDirectory(atPath: path) {
                let kept = try? Data(contentsOf: URL(fileURLWithPath: backup.path("copy") + "/" + name))
                try (kept ?? Data()).write(to: URL(fileURLWithPath: path + "/" + name))
            }
        } else {
            // The old folder stays on the disk, so that no file of the copy gets one of its inode numbers.
            try manager.moveItem(atPath: path, toPath: backup.path("lost"))
            try manager.copyItem(atPath: backup.path("copy"), toPath: path)
        }
        for name in try manager.contentsOfDirectory(atPath: path) where name.hasPrefix(user.new.fileName) {
            try manager.removeItem(atPath: path + "/" + name)
        }
        let opened = try user.stores().store(for: "alice")
        defer { opened.close() }
        #expect(try opened.all(Draft.self).map(\.content) == ["a"])
        let notes = opened.notes.filter { $0.contains("its file is missing") }
        #expect(notes.count == 1)
        #expect(notes.allSatisfy { !$0.contains("everything") && $0.contains("at token ") })
        let said =
            isInPlace
            ? "nothing that was acknowledged is known to be missing" : "cannot be known: the user's folder was"
        #expect(notes.first?.contains(said) == true, "\(notes)")
    }

    /// Whatever the accepted store lacks is set aside.
    @Test func theOtherStoreIsSetAsideWhereItHoldsMore() throws {
        let folder = try RestoredFolder(at: .shadow)
        try folder.put([.older, .asItIs, .asItIs, .asItIs])
        let stores = try folder.user.stores()
        let lines = try stores.adopt(.sqlite, for: "alice", by: "a test", because: "the new one is not trusted")
        #expect(lines.count == 4, "\(lines)")
        #expect(lines.prefix(2).allSatisfy { $0.hasPrefix("given up: ") }, "\(lines)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.user.directory.path)
        #expect(names.contains { $0.hasPrefix("store.lmdb-adopted-") })
        let store = try stores.store(for: "alice")
        defer { store.close() }
        #expect(try store.all(Draft.self).map(\.content).sorted() == ["a", "b"])
        #expect(try store.engine() == .sqlite)
    }

    /// A folder restored as a whole is consistent, and nothing in it shows that it is older: it is served, the notes and the evidence say so, and
    /// earlier evidence does not count.
    @Test func aFolderPutBackAsAWholeSaysSo() throws {
        let folder = try RestoredFolder(at: .live)
        try folder.put([.older, .older, .older, .older])
        let stores = try folder.user.stores()
        let store = try stores.store(for: "alice")
        defer { store.close() }
        #expect(store.notes.contains { $0.contains("put back from a copy") })
        #expect(
            try store.files.context.evidence.log.read().records.contains { record in
                if case .putBack = record.event { return true }
                return false
            }
        )
        // The note appears once.
        store.close()
        let again = try stores.store(for: "alice")
        defer { again.close() }
        #expect(!again.notes.contains { $0.contains("put back") })
    }
}
