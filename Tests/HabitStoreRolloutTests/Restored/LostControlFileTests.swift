import Foundation
import HabitStore
import HabitTracker
import Synchronization
import Testing

@testable import HabitStoreRollout

/// `control` was truncated while a process had it mapped, and the next access to the page crashed the process with SIGBUS. It was removed, and this
/// process and later ones no longer saw each other's messages. Now the file is recreated, and no write acknowledged in the meantime is lost.
struct LostControlFileTests {
    enum Way: CaseIterable, Sendable {
        case emptied, halved, removed, replaced, renamed

        /// Does it to the file at `path`.
        func befall(_ path: String) throws {
            let manager = FileManager.default
            switch self {
            case .emptied: try cut(path, to: 0)
            case .halved: try cut(path, to: 100)
            case .removed: try manager.removeItem(atPath: path)
            case .replaced:
                try manager.copyItem(atPath: path, toPath: path + "-copy")
                try rename(path + "-copy", to: path)
            case .renamed: try rename(path, to: path + "-away")
            }
        }

        private func cut(_ path: String, to length: Int) throws {
            guard truncate(path, off_t(length)) == 0 else { throw CocoaError(.fileWriteUnknown) }
        }

        private func rename(_ path: String, to other: String) throws {
            guard Foundation.rename(path, other) == 0 else { throw CocoaError(.fileWriteUnknown) }
        }
    }

    private static let cuts = 12

    private func size(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
    }

    @Test(arguments: Stage.allCases, Way.allCases)
    func theUserGoesOnAndAKillLands(stage: Stage, way: Way) throws {
        let user = try StagedUser()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Draft(content: "before"))
        try user.bring(store, to: stage) { _ = try $0.all(Draft.self) }
        let control = try user.directory.path + "/control"
        try way.befall(control)
        #expect(try store.all(Draft.self).map(\.content) == ["before"])
        var acknowledged: Set = ["before"]
        for number in 0..<3 {
            try store.save(Draft(content: "after \(number)"))
            acknowledged.insert("after \(number)")
        }
        #expect(try size(control) == 4_096)
        #expect(try store.stage() == stage)
        try user.want(stage.rawValue, kill: true)
        let other = try user.stores().store(for: "alice")
        defer { other.close() }
        #expect(try other.applyKill())
        #expect(try other.engine() == user.old)
        #expect(Set(try other.all(Draft.self).map(\.content)) == acknowledged)
        // Both see the same file again, without a reload.
        #expect(try store.engine() == user.old)
        try store.save(Draft(content: "last"))
        #expect(try other.all(Draft.self).count == acknowledged.count + 1)
    }

    /// Cut repeatedly while everything else happens: each time the next write of some process is acknowledged.
    @Test(arguments: [Stage.dualwrite, .live, .complete], [Way.emptied, .halved, .removed])
    func whatIsAcknowledgedMeanwhileIsThere(stage: Stage, way: Way) throws {
        let user = try StagedUser()
        let first = try user.stores().store(for: "alice")
        defer { first.close() }
        try first.save(Draft(content: "before"))
        try user.bring(first, to: stage) { _ = try $0.all(Draft.self) }
        let second = try user.stores().store(for: "alice")
        defer { second.close() }
        let control = try user.directory.path + "/control"
        let acknowledged = Mutex<Set<String>>(["before"])
        let failures = Mutex<[HabitStoreError]>([])
        let isOver = Atomic<Bool>(false)
        DispatchQueue.concurrentPerform(iterations: 4) { worker in
            do {
                switch worker {
                case 0:
                    defer { isOver.store(true, ordering: .releasing) }
                    for number in 0..<Self.cuts {
                        let count = acknowledged.withLock { $0.count }
                        // It may not have been recreated since the last time.
                        if FileManager.default.fileExists(atPath: control) { try way.befall(control) }
                        if number == Self.cuts / 2, stage > .dualwrite { try second.demote() }
                        let deadline = ContinuousClock.now + .seconds(20)
                        while acknowledged.withLock({ $0.count }) == count, ContinuousClock.now < deadline {
                            Thread.sleep(forTimeInterval: 0.001)
                        }
                        Thread.sleep(forTimeInterval: Double(number) * 0.001)
                    }
                default:
                    let store = worker == 1 ? first : second
                    var number = 0
                    while !isOver.load(ordering: .acquiring) {
                        number += 1
                        let content = "\(worker): \(number)"
                        do {
                            try store.save(Draft(content: content))
                            _ = acknowledged.withLock { $0.insert(content) }
                            _ = try store.fetchCount(FetchDescriptor<Draft>())
                        } catch let error as HabitStoreError {
                            failures.withLock { $0.append(error) }
                        }
                    }
                }
            } catch let error as HabitStoreError {
                failures.withLock { $0.append(error) }
            } catch {
                Issue.record(error)
            }
        }
        let codes = Set(failures.withLock { $0 }.map(\.code))
        #expect(
            codes.isSubset(of: [.fileMoved, .notAuthoritative, .outcomeUnknown, .busy, .staleStore, .notFound]),
            "\(codes)"
        )
        first.close()
        second.close()
        let again = try user.stores().store(for: "alice")
        defer { again.close() }
        let contents = Set(try again.all(Draft.self).map(\.content))
        #expect(contents.isSuperset(of: acknowledged.withLock { $0 }))
        #expect(acknowledged.withLock { $0.count } > Self.cuts)
        try again.save(Draft(content: "continues"))
    }

    /// A file of an earlier version lacks the mark at its end, and keeps its contents.
    @Test func aFileOfAnEarlierVersionIsKept() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("control")
        do {
            let control = try ControlFile(path: path)
            control.publish(.live, epoch: 7)
        }
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try handle.seek(toOffset: 4_088)
        try handle.write(contentsOf: Data(count: 8))
        try handle.close()
        let control = try ControlFile(path: path)
        #expect(control.isWhole)
        #expect(control.confirmed == 7)
    }

    @Test(arguments: [0, 8, 100, 4_088])
    func aFileThatWasCutOffSaysNothing(length: Int) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("control")
        let control = try ControlFile(path: path)
        control.publish(.live, epoch: 7)
        #expect(control.isInPlace)
        guard truncate(path, off_t(length)) == 0 else { throw CocoaError(.fileWriteUnknown) }
        #expect(!control.isWhole)
        control.publish(.live, epoch: 8)
        #expect(control.word == 0)
        #expect(!control.isInPlace)
        let again = try ControlFile(path: path)
        #expect(again.wasNew)
        #expect(again.isInPlace)
        #expect(again.confirmed == 0)
    }
}
