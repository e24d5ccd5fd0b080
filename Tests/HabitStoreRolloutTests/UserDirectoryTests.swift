import Foundation
import HabitStore
import Testing

@testable import HabitStoreRollout

/// No user id names a folder outside of the root, or another user's.
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
}
