import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A link, folder or named pipe instead of a file next to a store made every write fail, with advice about the disk, while the doctor found
/// nothing. With a named pipe instead of SQLite's journal, even a kill waited forever.
@Suite(.timeLimit(.minutes(5)))
struct SideFileTests {
    enum Odd: String, CaseIterable {
        case link, danglingLink, folder, pipe
    }

    static let names = [
        "store.sqlite-wal", "store.sqlite-shm", "store.sqlite-journal", "store.sqlite-lock", "store.lmdb-lock",
        "store.lmdb-sound", SwitchLock.fileName, CopyLock.fileName, "rehearsing.lock", "restoring.lock",
    ]

    private func put(_ odd: Odd, at path: String, _ target: String) throws {
        switch odd {
        case .link:
            try Data().write(to: URL(fileURLWithPath: target))
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        case .danglingLink:
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        case .folder: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        case .pipe: try #require(mkfifo(path, 0o600) == 0)
        }
    }

    /// What keeps a user from being read or written is a finding that names the file, and once the file is gone nothing is lost.
    @Test(arguments: [Stage.off, .live, .complete], names)
    func whatIsInTheWayIsNamed(stage: Stage, name: String) throws {
        let kept = try KeptUser(at: stage)
        let (path, aside) = (try kept.path + "/" + name, kept.user.folder.path("aside"))
        var written = ["a", "b"]
        for odd in Odd.allCases {
            let isThere = FileManager.default.fileExists(atPath: path)
            if isThere { try FileManager.default.moveItem(atPath: path, toPath: aside) }
            try put(odd, at: path, kept.user.folder.path("target-\(odd)"))
            let findings = try kept.user.stores().examine("alice")
            do {
                try kept.with { try $0.save(Draft(content: odd.rawValue)) }
                written.append(odd.rawValue)
                #expect(try kept.contents() == written.sorted())
            } catch {
                let isNamed = findings.contains { $0.message.contains(name) }
                #expect(isNamed, "\(odd) \(name) at \(stage): \(error); the doctor said \(findings)")
            }
            try FileManager.default.removeItem(atPath: path)
            if isThere { try FileManager.default.moveItem(atPath: aside, toPath: path) }
            _ = try kept.user.stores().mend("alice")
        }
        #expect(try kept.contents() == written.sorted())
        try kept.write("c")
        #expect(try kept.user.stores().examine("alice").isEmpty)
    }

    /// If the disk of a store was not mounted, its link led nowhere, and the commands said that there was no such user; the doctor advised removing
    /// the folder. The link is named with what it leads to, nothing is made in its place, and the user is served once the file is back.
    @Test(arguments: [Stage.off, .live])
    func aStoreWhoseLinkLeadsNowhereIsNamed(stage: Stage) throws {
        let kept = try KeptUser(at: stage)
        let (link, target) = (try kept.user.address(.old).path, kept.user.folder.path("elsewhere.sqlite"))
        try FileManager.default.createSymbolicLink(atPath: link + ".link", withDestinationPath: target)
        try FileManager.default.moveItem(atPath: link, toPath: link + ".kept")
        try FileManager.default.moveItem(atPath: link + ".link", toPath: link)
        let stores = try kept.user.stores()
        let findings = try stores.examine("alice")
        let named = findings.filter { $0.message.contains(target) && $0.message.contains(link) }
        #expect(named.count == 1, "\(findings)")
        #expect(findings.allSatisfy { !$0.remedy.contains("remove") }, "\(findings)")
        let problem = try stores.status(of: "alice").problems.first { $0.place == "sqlite" }
        #expect(problem?.error.message.contains("a link that leads nowhere, to \(target)") == true)
        let error = #expect(throws: HabitStoreError.self) {
            let store = try stores.existingStore(for: "alice")
            defer { store.close() }
            try store.save(Draft(content: "not acknowledged"))
        }
        #expect(
            error.map { "\($0)" }?.contains("a link that leads nowhere, to \(target)") == true,
            "\(String(describing: error))"
        )
        #expect(!FileManager.default.fileExists(atPath: target))
        try FileManager.default.removeItem(atPath: link)
        try FileManager.default.moveItem(atPath: link + ".kept", toPath: link)
        #expect(try kept.contents() == ["a", "b"])
    }
}
