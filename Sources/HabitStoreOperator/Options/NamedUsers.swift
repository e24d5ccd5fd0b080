import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout

/// Options that list users.
struct NamedUsers: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only these users, separated by commas; repeatable.",
            discussion:
                "An id with a comma in it is one user if that user exists. --user and --users-file take ids unchanged.",
            valueName: "a,b"
        )
    )
    var users: [String] = []

    @Option(
        help: ArgumentHelp(
            "Only the users of this file: one id a line, or a JSON array of ids.",
            valueName: "file"
        )
    )
    var usersFile: String?

    /// Whether no list is given.
    var isEmpty: Bool { users.isEmpty && usersFile == nil }

    func validate() throws {
        let ids = users.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
        guard !ids.contains("") else {
            throw ValidationError("an id in --users is empty; separate ids by commas, as in ada,berta")
        }
    }

    /// The listed users, without duplicates; nil if no option lists any.
    ///
    /// - Parameters:
    ///   - exact: ids given one by one.
    ///   - root: the folder of the users' folders; nil if it is unknown.
    /// - Throws: a usage error for an ambiguous list or a file without users.
    func ids(and exact: [String], root: String?) throws -> [String]? {
        guard !isEmpty || !exact.isEmpty else { return nil }
        let ids =
            try exact + users.flatMap { try Self.ids(in: $0, root: root) }
            + (try usersFile.map(Self.ids(ofFile:)) ?? [])
        // By bytes: ids that differ only in their Unicode form are two users.
        var named: Set<[UInt8]> = []
        return ids.filter { named.insert(Array($0.utf8)).inserted }
    }

    /// The ids in one option. A comma may be part of an id: then the text is one id, and ambiguous if its parts are users as well.
    private static func ids(in text: String, root: String?) throws -> [String] {
        let parts = text.split(separator: ",").map(String.init)
        guard let root, parts.count > 1, hasFolder(text, root) else { return parts }
        guard parts.contains(where: { hasFolder($0, root) }) else { return [text] }
        let options = parts.map { "--user " + ShellWord.quoted($0) }.joined(separator: " ")
        throw CommandFailure.usage(
            "--users \(ShellWord.quoted(text)) is one user, and the list of \(parts.count.counted("user")): write `--user \(ShellWord.quoted(text))` for the one, "
                + "or `\(options)`; no user was killed or re-armed"
        )
    }

    private static func hasFolder(_ user: String, _ root: String) -> Bool {
        guard let path = try? UserDirectory(root: root, user: user).path else { return false }
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// The ids in a file, unchanged.
    private static func ids(ofFile path: String) throws -> [String] {
        let bytes: Data
        do {
            bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the list of users cannot be read",
                at: .init(path: path),
                underlying: error
            )
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure.usage("\(path): the list of users is not UTF-8")
        }
        var ids = text.split(separator: "\n").map(String.init)
        if text.first(where: { !$0.isWhitespace }) == "[" {
            guard let array = try? JSONDecoder().decode([String].self, from: bytes) else {
                throw CommandFailure.usage("\(path): the list begins like a JSON array, but is not an array of strings")
            }
            ids = array
        }
        guard !ids.isEmpty, !ids.contains("") else {
            throw CommandFailure.usage("\(path): the list is empty, or has an empty id")
        }
        return ids
    }
}
