import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// No user id names a folder outside the root, or another user's.
struct UserDirectoryTests {
    private static let ids = [
        "alice", "Alice", "ALICE", "../x", "../../etc/passwd", "/etc/passwd", ".", "..", "a/b", "a\\b", "con", "a\0b",
        "\0", "\n", " ", "é", "e\u{301}", "ß", "SS", "𝔸", "👨‍👩‍👧", "مرحبا", "u-616c696365", "~", "%2e%2e%2f", "*",
        String(repeating: "x", count: 100), String(repeating: "x", count: 101),
        String(repeating: "x", count: 10_240), String(repeating: "x", count: 10_239) + "y",
        String(repeating: "../", count: 3_000),
    ]

    @Test(arguments: ids)
    func anIDNamesOneFolderRightUnderTheRoot(id: String) throws {
        let directory = try UserDirectory(root: "/srv/habits", user: id)
        let name = try #require(directory.path.split(separator: "/").last)
        #expect(directory.path == "/srv/habits/users/\(name)")
        #expect(name.utf8.count <= 255)
        #expect(name.allSatisfy { $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "-") })
    }

    @Test func differentIDsHaveDifferentFoldersWhereCaseDoesNotCountToo() throws {
        let paths = try Self.ids.map { try UserDirectory(root: "/r", user: $0).path.lowercased() }
        #expect(Set(paths).count == Self.ids.count)
    }

    @Test func anEmptyIDIsRefused() {
        let error = #expect(throws: HabitStoreError.self) { _ = try UserDirectory(root: "/r", user: "") }
        #expect(error?.code == .invalidValue)
    }

    @Test func anIDBeyondTheLimitIsRefused() throws {
        let longest = String(repeating: "x", count: UserDirectory.maximumBytes)
        _ = try UserDirectory(root: "/r", user: longest)
        let error = #expect(throws: HabitStoreError.self) { _ = try UserDirectory(root: "/r", user: longest + "x") }
        #expect(error?.code == .invalidValue)
    }

    @Test func aFolderThatBelongsToAnotherUserIsRefused() throws {
        let folder = try TemporaryFolder()
        let directory = try UserDirectory(root: folder.path, user: "alice")
        try directory.make()
        try directory.claim()
        try directory.claim()
        try Data("mallory".utf8).write(to: URL(fileURLWithPath: directory.path + "/user"))
        let error = #expect(throws: HabitStoreError.self) { try directory.claim() }
        #expect(error?.code == .unsupported)
    }

    @Test func theFolderIsForItsOwnerOnly() throws {
        let folder = try TemporaryFolder()
        let directory = try UserDirectory(root: folder.path, user: "alice")
        try directory.make()
        let attributes = try FileManager.default.attributesOfItem(atPath: directory.path)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
    }

    /// Under a root that others could write to, a link instead of the user's folder made records go where the link led, and changed the modes of the
    /// files there.
    @Test(arguments: ["users", "user"])
    func aLinkInThePlaceOfAFolderIsRefused(which: String) throws {
        let folder = try TemporaryFolder()
        let directory = try UserDirectory(root: folder.path("root"), user: "alice")
        try directory.make()
        let place = which == "user" ? directory.path : folder.path("root/users")
        try FileManager.default.moveItem(atPath: place, toPath: folder.path("elsewhere"))
        try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: folder.path("elsewhere"))
        for refused in [directory.make, directory.requireOwn] {
            let error = #expect(throws: HabitStoreError.self) { try refused() }
            #expect(error?.code == .permissionDenied)
            #expect(error?.location.path == place)
        }
    }

    @Test(arguments: [0o770, 0o707], ["users", "user"])
    func aFolderThatOthersMayWriteToIsRefused(mode: Int, which: String) throws {
        let folder = try TemporaryFolder()
        let directory = try UserDirectory(root: folder.path("root"), user: "alice")
        try directory.make()
        let place = which == "user" ? directory.path : folder.path("root/users")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: place)
        let error = #expect(throws: HabitStoreError.self) { try directory.make() }
        #expect(error?.code == .permissionDenied)
        #expect(error?.location.path == place)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a folder away"))
    func aFolderOfAnotherAccountIsRefused() throws {
        let folder = try TemporaryFolder()
        let directory = try UserDirectory(root: folder.path("root"), user: "alice")
        try directory.make()
        try #require(chown(directory.path, 65_534, 65_534) == 0)
        let error = #expect(throws: HabitStoreError.self) { try directory.make() }
        #expect(error?.code == .permissionDenied)
    }

    /// `rollout kill` answered "0 of 0 users" and exited with 0 when the file `user` was missing in the folders.
    @Test func everybodyIsListedOrNamedAsUnknown() throws {
        let folder = try TemporaryFolder()
        let ids = Self.ids.filter { !$0.isEmpty }
        for id in ids {
            let directory = try UserDirectory(root: folder.path, user: id)
            try directory.make()
            try directory.claim()
        }
        let whole = try UserDirectory.all(root: folder.path)
        #expect(whole.users == ids.sorted())
        #expect(whole.unknown.isEmpty)
        for id in ids {
            try FileManager.default.removeItem(atPath: UserDirectory(root: folder.path, user: id).path + "/user")
        }
        for name in ["u-61zz", "u-", "u-616C", "h-6c", "h-"] {
            try FileManager.default.createDirectory(
                atPath: folder.path("users/\(name)"),
                withIntermediateDirectories: false
            )
        }
        try Data().write(to: URL(fileURLWithPath: folder.path("users/.DS_Store")))
        let listing = try UserDirectory.all(root: folder.path)
        #expect(listing.users == ids.filter { $0.utf8.count <= 100 }.sorted())
        let unknown = listing.unknown.compactMap { $0.location.path.map { URL(fileURLWithPath: $0).lastPathComponent } }
        #expect(unknown.count == ids.count { $0.utf8.count > 100 } + 5)
        #expect(Set(unknown).isSuperset(of: ["u-61zz", "u-", "u-616C", "h-6c", "h-"]))
    }

    /// A user's folder with a name of its own, as after `mv`, was passed over without a word: `rollout kill` counted everybody else and ended with 0.
    @Test func aRenamedFolderIsNamedAsUnknown() throws {
        let folder = try TemporaryFolder()
        for id in ["alice", "bob"] {
            let directory = try UserDirectory(root: folder.path, user: id)
            try directory.make()
            try directory.claim()
        }
        let renamed = folder.path("users/old-bob")
        try FileManager.default.moveItem(
            atPath: UserDirectory(root: folder.path, user: "bob").path,
            toPath: renamed
        )
        for name in ["lost+found", ".erased-1"] {
            try FileManager.default.createDirectory(
                atPath: folder.path("users/\(name)"),
                withIntermediateDirectories: false
            )
        }
        try Data().write(to: URL(fileURLWithPath: folder.path("users/.erased-1/control")))
        let listing = try UserDirectory.all(root: folder.path)
        #expect(listing.users == ["alice"])
        #expect(listing.unknown.map(\.location.path) == [renamed])
        #expect(listing.unknown.map(\.code) == [.notAStore])
    }

    /// Listing all users, or asking whose a folder is, must not wait for a writer of a pipe.
    @Test(.timeLimit(.minutes(5))) func aPipeThatIsToSayWhoseAFolderIsIsNotWaitedFor() throws {
        let folder = try TemporaryFolder()
        let directory = try UserDirectory(root: folder.path, user: String(repeating: "x", count: 101))
        try directory.make()
        try #require(mkfifo(folder.path("pipe"), 0o600) == 0)
        try FileManager.default.createSymbolicLink(
            atPath: directory.path + "/user",
            withDestinationPath: folder.path("pipe")
        )
        #expect(try UserDirectory.all(root: folder.path).unknown.count == 1)
        #expect(directory.label == .special)
    }

    /// While "é" as one scalar was open, "é" as two scalars got its records, and wrote into its store.
    @Test func idsThatSwiftTakesForEqualHaveStoresOfTheirOwn() throws {
        let fixture = try UserStoresFixture(.sqlite)
        let stores = try fixture.stores()
        let one = try stores.store(for: "\u{E9}")
        defer { one.close() }
        try one.save(Draft(content: "of the one"))
        let two = try stores.store(for: "e\u{301}")
        defer { two.close() }
        #expect(one !== two)
        #expect(try two.all(Draft.self).isEmpty)
        #expect(try stores.store(for: "\u{E9}") === one)
    }

    /// A truncated file `user` turned its user into another one forever, although the stores were sound.
    @Test func aFileThatWasCutOffIsWrittenAnew() throws {
        let folder = try TemporaryFolder()
        let directory = try UserDirectory(root: folder.path, user: "alice")
        try directory.make()
        try Data().write(to: URL(fileURLWithPath: directory.path + "/user"))
        try directory.claim()
        #expect(try String(contentsOfFile: directory.path + "/user", encoding: .utf8) == "alice")
    }
}
