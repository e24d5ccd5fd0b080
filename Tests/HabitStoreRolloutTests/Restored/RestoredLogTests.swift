import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// An older `store.sqlite` was restored next to the log of the running app, or an older log next to the file: the user was served a mixture of both.
/// A store's file and its log may be from different times. Now the user is served everything that was acknowledged, or nothing, and a refusal leaves
/// the files unchanged.
struct RestoredLogTests {
    /// The part of a store that is from another time.
    enum Change: String, CaseIterable {
        case fileOlder, logOlder, logMissing, logOfAnotherUser, sharedMemoryKept
    }

    private static let refusals: Set<HabitStoreError.Code> = [.staleStore, .notAuthoritative, .corrupt]

    /// Folders of one user at two times and of another user, all copied while the stores were open, with logs.
    private struct Folders {
        let user: StagedUser
        let copies: TemporaryFolder

        init(at stage: Stage, from old: EngineName) throws {
            (user, copies) = (try StagedUser(old: old), try TemporaryFolder())
            for (name, prefix) in [("bob", "bob's "), ("alice", "")] {
                try user.want("off")
                let store = try user.stores().store(for: name)
                try store.save(Draft(content: prefix + "a"))
                try user.bring(store, to: min(stage, .shadow)) { _ = try $0.all(Draft.self) }
                try store.save(Draft(content: prefix + "b"))
                _ = store.waitUntilMirrorIsIdle(waitSeconds: 60)
                if name == "alice" { try keep(name, as: "older") }
                store.close()
                let again = try user.stores().store(for: name)
                try user.bring(again, to: stage) { _ = try $0.all(Draft.self) }
                try again.save(Draft(content: prefix + "c"))
                _ = again.waitUntilMirrorIsIdle(waitSeconds: 60)
                again.close()
                let last = try user.stores().store(for: name)
                try last.save(Draft(content: prefix + "d"))
                _ = last.waitUntilMirrorIsIdle(waitSeconds: 60)
                try keep(name, as: name == "alice" ? "now" : "foreign")
                last.close()
            }
        }

        private func keep(_ name: String, as copy: String) throws {
            let path = try UserDirectory(root: user.root, user: name).path
            try FileManager.default.copyItem(atPath: path, toPath: copies.path(copy))
        }

        /// Assembles the user's folder, with a change to one store.
        func put(_ change: Change? = nil, of engine: EngineName) throws {
            let (manager, path, file) = (FileManager.default, try user.directory.path, engine.fileName)
            // A line of evidence that is written late must not come between the copied files.
            let next = copies.path("next")
            try manager.copyItem(atPath: copies.path("now"), toPath: next)
            try manager.removeItem(atPath: path)
            try #require(rename(next, path) == 0)
            let log = engine == .sqlite ? "-wal" : "-sound"
            func take(_ suffix: String, from copy: String) throws {
                try? manager.removeItem(atPath: path + "/" + file + suffix)
                let source = copies.path(copy) + "/" + file + suffix
                guard manager.fileExists(atPath: source) else { return }
                try manager.copyItem(atPath: source, toPath: path + "/" + file + suffix)
            }
            switch change {
            case .fileOlder: try take("", from: "older")
            case .logOlder:
                try take(log, from: "older")
                try take("-shm", from: "older")
            case .logMissing: for suffix in ["-wal", "-shm", "-lock", "-sound"] { try take(suffix, from: "nowhere") }
            case .logOfAnotherUser:
                try take(log, from: "foreign")
                try take("-shm", from: "nowhere")
            case .sharedMemoryKept: try take(log, from: "older")
            case nil: break
            }
        }

        /// The bytes of a store's file and log.
        func bytes(of engine: EngineName) throws -> [Data?] {
            let path = try user.directory.path + "/" + engine.fileName
            return ["", "-wal"].map { try? Data(contentsOf: URL(fileURLWithPath: path + $0)) }.filter {
                $0?.isEmpty == false
            }
        }
    }

    @Test(arguments: Stage.allCases, EngineName.standard)
    func aStoreWhosePartsAreOfTwoMoments(stage: Stage, old: EngineName) throws {
        let folders = try Folders(at: stage, from: old)
        var figures: [String: Int] = [:]
        for engine in EngineName.standard {
            guard try folders.user.engines.identity(of: folders.user.address(engine == old ? .old : .new)) != nil else {
                continue
            }
            for change in Change.allCases {
                let name = "at \(stage) from \(old): \(engine) with \(change.rawValue)"
                try folders.put(change, of: engine)
                let before = try folders.bytes(of: engine)
                let stores = try folders.user.stores()
                do {
                    let store = try stores.store(for: "alice")
                    defer { store.close() }
                    #expect(try store.all(Draft.self).map(\.content).sorted() == ["a", "b", "c", "d"], "\(name)")
                    figures["served", default: 0] += 1
                } catch let error as HabitStoreError {
                    #expect(Self.refusals.contains(error.code), "\(name): \(error)")
                    #expect(try folders.bytes(of: engine) == before, "\(name): the refusal has written")
                    #expect(try !stores.examine("alice").isEmpty, "\(name): the doctor finds nothing")
                    #expect(throws: HabitStoreError.self) { try stores.currentAddress(of: "alice") }
                    #expect(try folders.bytes(of: engine) == before, "\(name): looking has written")
                    figures["refused", default: 0] += 1
                }
            }
        }
        print("parts of two moments at \(stage) from \(old): \(figures.sorted { $0.key < $1.key })")
    }

    /// An older file replaces that of an open store in the middle of a read: the read ends with the data that it began with, and later ones are
    /// current or refused.
    @Test(arguments: Stage.allCases, EngineName.standard)
    func anOlderFileUnderAReader(stage: Stage, old: EngineName) throws {
        let folders = try Folders(at: stage, from: old)
        for engine in EngineName.standard {
            guard try folders.user.engines.identity(of: folders.user.address(engine == old ? .old : .new)) != nil else {
                continue
            }
            let name = "at \(stage) from \(old): \(engine)"
            try folders.put(of: engine)
            let (file, aside) = (
                try folders.user.directory.path + "/" + engine.fileName, folders.copies.path("\(engine)")
            )
            try FileManager.default.copyItem(
                atPath: folders.copies.path("older") + "/" + engine.fileName,
                toPath: aside
            )
            let store = try folders.user.stores().store(for: "alice")
            try store.read { transaction in
                _ = try transaction.fetchCount(FetchDescriptor<Draft>())
                try #require(rename(aside, file) == 0)
                #expect(try transaction.all(Draft.self).map(\.content).sorted() == ["a", "b", "c", "d"], "\(name)")
            }
            let isAcknowledged = (try? store.save(Draft(content: "e"))) != nil
            store.close()
            let expected = ["a", "b", "c", "d"] + (isAcknowledged ? ["e"] : [])
            do {
                let again = try folders.user.stores().store(for: "alice")
                defer { again.close() }
                let found = try again.all(Draft.self).map(\.content).sorted()
                #expect(found == expected, "\(name)")
            } catch let error as HabitStoreError {
                #expect(Self.refusals.contains(error.code), "\(name): \(error)")
            }
        }
    }
}
