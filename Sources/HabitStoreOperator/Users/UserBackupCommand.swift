import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout
import JSONText

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
            members["removed"] = outcome.removed
            members["otherStores"] = otherStores
            try JSON.write(members)
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
        var members = Self.members(backup)
        members["damages"] = damages
        members["isWhole"] = damages.isEmpty
        try output.write(members) {
            let lines =
                damages.isEmpty
                ? ["whole: \(backup.manifest.files.count.counted("file")), token \(backup.manifest.token)"]
                : damages.map { "DAMAGED: \($0)" }
            return lines.map { TerminalText.escaped($0) + "\n" }.joined()
        }
        if !damages.isEmpty { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private static func members(_ backup: UserBackup) -> JSONObject {
        let manifest = backup.manifest
        var members: JSONObject = [
            "path": backup.path,
            "user": manifest.user,
            "stage": manifest.stage.rawValue,
            "engine": manifest.serving.rawValue,
            "epoch": manifest.epoch,
            "token": manifest.token.rawValue,
            "lineage": manifest.lineage.uuidString,
            "isKilled": manifest.isKilled,
            "stores": manifest.stores.map(\.engine.rawValue),
            "leftOut": manifest.leftOut,
            "sizeBytes": manifest.files.reduce(0) { $0 + $1.sizeBytes },
        ]
        members.set("time", manifest.time)
        return members
    }
}

/// `habitstore user restore`.
struct UserRestoreCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Puts a backup of a user back.",
        discussion: """
            The user gets the backup's stores, in an epoch above all others, and the evidence records it; earlier \
            proof no longer counts. Refused if the user has anything that the backup lacks. With --replace that is \
            given up: the stores are set aside next to the new ones, and never deleted.

            A missing user is created as of the backup. A killed restore leaves the user as before, or the next \
            opening finishes it.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The backup.")
    var path: String

    @Flag(help: "Give up what the user has and the backup lacks.")
    var replace = false

    @Option(help: ArgumentHelp("Why, for the evidence.", valueName: "text"))
    var because: String?

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        guard because.map({ $0.contains { !$0.isWhitespace } }) ?? !replace else {
            throw ValidationError("--replace gives up what the user has; say why with --because")
        }
    }

    func run() async throws {
        let settings = try await Settings(userOptions)
        let stores = try settings.stores(otherVersions: .asWrittenByAnyApp)
        let backup = try UserBackup(path: path)
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        let outcome = try stores.restore(
            backup,
            of: userOptions.user,
            replacing: replace,
            by: NSUserName(),
            because: because ?? "a backup was put back"
        ) { bar.show($0, $1, $2) }
        bar.clear()
        try output.write([
            "user": outcome.user,
            "isNew": outcome.isNew,
            "stage": outcome.stage.rawValue,
            "engine": outcome.engine.rawValue,
            "epoch": outcome.epoch,
            "token": outcome.token.rawValue,
            "givenUp": outcome.givenUp,
            "aside": outcome.aside,
        ]) { text(outcome) }
    }

    private func text(_ outcome: RestorationOutcome) -> String {
        var lines = outcome.givenUp.map { "given up: \($0)" }
        lines += outcome.aside.map { "set aside: \($0)" }
        lines.append(
            "\(outcome.user) \(outcome.isNew ? "is there again" : "is as of the backup"): \(outcome.stage.rawValue) on "
                + "\(outcome.engine.rawValue), token \(outcome.token), epoch \(outcome.epoch)"
        )
        return lines.map { TerminalText.escaped($0) + "\n" }.joined()
    }
}

/// `habitstore user copies`.
struct UserCopiesCommand: ReportingCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "copies",
            abstract: "Lists the copies that migrations made of users' stores, and removes them.",
            usage: """
                \(Tool.name) user copies USER [--remove] [--older-than DAYS]
                \(Tool.name) user copies --all [--remove] [--older-than DAYS]
                """,
            discussion: """
                Before a custom stage, or one that drops an attribute or an entity, a migration copies the store to a \
                file next to it, and leaves it there. Nothing is changed without --remove, which removes copies that \
                are at least 30 days old, or as old as --older-than says, and leaves those of a user none of whose \
                stores has a later version.
                Exit codes: 0 done; 65, 74 as everywhere, for the first user whose folder could not be read.
                """
        )
    }

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var jobOptions: JobOptions

    @Argument(help: "The user.")
    var user: String?

    @Flag(help: "All users under the root.")
    var all = false

    @Flag(help: "Remove the copies that are old enough.")
    var remove = false

    @Option(
        help: ArgumentHelp(
            "Only copies that are at least this many days old. [default: 30 with --remove]",
            valueName: "days"
        )
    )
    var olderThan: Double?

    func validate() throws {
        if let olderThan, !(0...36_500).contains(olderThan) {
            throw ValidationError("--older-than is 0 to 36500 days")
        }
        guard all else {
            _ = try userOptions.named(by: user)
            return
        }
        guard user == nil, userOptions.user == nil else {
            throw ValidationError("name a user, or give --all, and only one of these")
        }
    }

    func run() async throws {
        let settings = try await Settings(userOptions)
        let stores = try settings.stores(otherVersions: .asWrittenByAnyApp)
        let listing = try all ? stores.users() : UserListing(users: [userOptions.named(by: user)])
        let (removes, age) = (remove, olderThan.map { $0 * 24 * 3_600 })
        let results = await jobOptions.run(removes ? "removing" : "looking", listing) { user in
            guard removes else {
                let limit = Date(timeIntervalSinceNow: -(age ?? 0))
                return try stores.migrationCopies(of: user).filter { $0.made <= limit }
            }
            return try stores.removeMigrationCopies(
                of: user,
                olderThanSeconds: age ?? MigrationCopy.retentionSeconds
            )
        }
        try output.write(json(results)) { text(results) }
        guard let failure = results.failures().first else { return }
        throw ExitCode(ErrorReport(failure.error, showsDetail: false).status.rawValue)
    }

    private func text(_ results: [UserResult<[MigrationCopy]>]) -> String {
        var lines: [String] = []
        var (count, bytes) = (0, 0)
        for result in results {
            switch result.result {
            case .success(let copies):
                count += copies.count
                bytes += copies.reduce(0) { $0 + $1.sizeBytes }
                lines += copies.map { copy in
                    let kept = copy.neededBecause.map { "; needed: \($0)" } ?? ""
                    return
                        "\(result.user): \(copy.path), version \(copy.version) at token \(copy.token), \(copy.sizeBytes) bytes, "
                        + "made \(ISODate.instant(copy.made))\(kept)"
                }
            case .failure(let error):
                lines.append("\(result.user): FAILED: \(ErrorReport.message(of: error, for: result.user))")
            }
        }
        lines.append(
            "\(count) \(count == 1 ? "copy" : "copies"), \(bytes) bytes\(remove ? ", removed" : "")"
        )
        return lines.map { TerminalText.escaped($0) + "\n" }.joined()
    }

    private func json(_ results: [UserResult<[MigrationCopy]>]) -> JSONObject {
        [
            "removed": remove,
            "users": results.map { result in
                var members: JSONObject = ["user": result.user]
                switch result.result {
                case .success(let copies): members["copies"] = copies.map(json)
                case .failure(let error): members["error"] = ErrorReport.message(of: error, for: result.user)
                }
                return members
            },
        ]
    }

    private func json(_ copy: MigrationCopy) -> JSONObject {
        [
            "engine": copy.engine.rawValue,
            "version": copy.version.description,
            "token": copy.token.rawValue,
            "path": copy.path,
            "sizeBytes": copy.sizeBytes,
            "made": ISODate.instant(copy.made),
            "neededBecause": copy.neededBecause,
        ]
    }
}
