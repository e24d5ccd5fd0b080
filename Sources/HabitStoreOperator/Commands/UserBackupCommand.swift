import ArgumentParser
import Foundation
import HabitStore
import HabitStoreReports
import HabitStoreRollout

/// `habitstore user backup`.
struct UserBackupCommand: ReportingCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "backup",
            abstract: "Makes one consistent copy of a user: stores, role, epoch, history and evidence; or checks one.",
            usage: """
                \(Tool.name) user backup USER FOLDER
                \(Tool.name) user backup --verify FOLDER
                """,
            discussion: """
                The backup is a folder for its owner only, with a manifest and the SHA-256 of each file. Other \
                programs may read and write meanwhile. Nothing is overwritten, and nothing is created inside the root. \
                The user's folder records where the backup is, so that `\(Tool.name) user erase` finds it; a backup \
                that is moved has to be erased by hand.

                A backup has one store of the user's. Stores with names are backed up one by one, with --store-name; \
                the command lists them if the user has any.

                With --verify a backup is checked, and nothing else is done: exit code 1 means that it is not intact.
                """
        )
    }

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The user, and the folder to create; with --verify, the backup.")
    var arguments: [String] = []

    @Flag(help: "Check a backup.")
    var verify = false

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        if verify {
            guard arguments.count == 1, userOptions.user == nil else {
                throw ValidationError("name the backup, and nothing else")
            }
        } else if try userOptions.named(by: arguments).others.count != 1 {
            throw ValidationError("name the user, and the folder of the backup")
        }
    }

    func run() async throws {
        if verify { return try check(arguments[0]) }
        let (user, others) = try userOptions.named(by: arguments)
        let path = others[0]
        let settings = try await Settings(userOptions)
        try Self.requireOutside(of: settings.home, path)
        let stores = try settings.stores(otherVersions: .asWrittenByAnyApp)
        let otherStores = try settings.otherStores(of: user).compactMap(\.settings.store?.text)
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        let outcome = try stores.backUp(user, to: path) { bar.show($0, 0, 0) }
        bar.clear()
        let (backup, manifest) = (outcome.backup, outcome.backup.manifest)
        switch output.format {
        case .json:
            var members = Self.members(backup)
            members["removed"] = .array(outcome.removed.map { .string($0) })
            members["otherStores"] = .array(otherStores.map { .string($0) })
            try JSON.write(JSON.object(members))
        case .text:
            var lines = outcome.removed.map { "removed what a killed backup had left: \($0)" }
            lines.append(
                "backed up to \(backup.path): \(manifest.stage.rawValue) on \(manifest.serving.rawValue), token \(manifest.token), "
                    + "\(manifest.stores.map(\.engine.rawValue).joined(separator: " and "))"
            )
            if let leftOut = manifest.leftOut { lines.append("left out: \(leftOut)") }
            lines += otherStores.map { name in
                let words = [
                    "user", "backup", user, "\(path)-\(name)", "--root", settings.home, "--store-name",
                    name,
                ]
                let command = words.map(ShellWord.quoted).joined(separator: " ")
                return "not in it: the user's store \(name), which `\(Tool.name) \(command)` backs up"
            }
            try Output.write(lines.map { TerminalText.escaped($0) + "\n" }.joined())
        }
    }

    /// Checks that a backup is not made among users' stores, where it would be taken for a user's folder or for a store's.
    private static func requireOutside(of root: String, _ path: String) throws {
        let (place, folder) = (resolved(path), resolved(root))
        guard place != folder, !place.hasPrefix(folder.hasSuffix("/") ? folder : folder + "/") else {
            throw CommandFailure.usage(
                "\(path) is inside the root \(root), where users have their stores; name a folder elsewhere"
            )
        }
    }

    /// A path without symbolic links, as far as it exists.
    private static func resolved(_ path: String) -> String {
        var url = URL(fileURLWithPath: path).standardizedFileURL
        var missing: [String] = []
        while url.path != "/", !FileManager.default.fileExists(atPath: url.path) {
            missing.insert(url.lastPathComponent, at: 0)
            url.deleteLastPathComponent()
        }
        return missing.reduce(url.resolvingSymlinksInPath()) { $0.appendingPathComponent($1) }.path
    }

    private func check(_ path: String) throws {
        let backup = try UserBackup(path: path)
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        let damages = try backup.damages { bar.show("backup", $0, $1) }
        bar.clear()
        switch output.format {
        case .json:
            var members = Self.members(backup)
            members["damages"] = .array(damages.map { .string($0) })
            members["isWhole"] = .bool(damages.isEmpty)
            try JSON.write(JSON.object(members))
        case .text:
            let lines =
                damages.isEmpty
                ? ["whole: \(backup.manifest.files.count.counted("file")), token \(backup.manifest.token)"]
                : damages.map { "DAMAGED: \($0)" }
            try Output.write(lines.map { TerminalText.escaped($0) + "\n" }.joined())
        }
        if !damages.isEmpty { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private static func members(_ backup: UserBackup) -> [String: JSON] {
        let manifest = backup.manifest
        var members: [String: JSON] = [
            "path": .string(backup.path),
            "user": .string(manifest.user),
            "stage": .string(manifest.stage.rawValue),
            "engine": .string(manifest.serving.rawValue),
            "epoch": .int(manifest.epoch),
            "token": .int(Int(manifest.token.rawValue)),
            "lineage": .string(manifest.lineage.uuidString),
            "isKilled": .bool(manifest.isKilled),
            "stores": .array(manifest.stores.map { .string($0.engine.rawValue) }),
            "leftOut": .optional(manifest.leftOut),
            "sizeBytes": .int(manifest.files.reduce(0) { $0 + $1.sizeBytes }),
        ]
        members.set("time", manifest.time)
        return members
    }
}
