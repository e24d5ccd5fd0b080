import ArgumentParser
import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreFleet
import HabitStoreImport
import HabitStoreRollout
import JSONText

/// `habitstore user export`.
struct UserExportCommand: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "export",
            abstract: "Writes everything that is kept about a user, as one JSON document.",
            usage: "\(Tool.name) user export USER [FILE]",
            discussion: """
                `status`: where the user is. `flags`: each flag's value for the user. `data`: all records, as \
                `habitstore export --format json` writes them. `history`: the kept transactions, tombstones included. \
                `evidence`: each line, unchanged. `backups`: where backups were made. `stores`: the same for each \
                store with a name that the user has under the root; with --store-name there are none, and the document \
                is about that store. Records and history of a store are of one moment. The document is written while \
                the stores are read.

                Writes to a new file for its owner only, or to standard output.
                """
        )
    }

    @OptionGroup var userOptions: UserOptions

    @Argument(help: "The user, and the file to create. [default: standard output]")
    var arguments: [String] = []

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        guard try userOptions.named(by: arguments).others.count <= 1 else {
            throw ValidationError("name the user and one file, or none")
        }
    }

    func run() async throws {
        let (user, others) = try userOptions.named(by: arguments)
        let path = others.first
        let settings = try await Settings(userOptions)
        let stores = try settings.stores(otherVersions: .asWrittenByAnyApp)
        try stores.requireUser(user)
        let otherStores = try settings.otherStores(of: user)
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        let export = UserExport(user: user, settings: settings, stores: stores, others: otherStores) {
            bar.show("exporting", $0, $1)
        }
        guard let path else {
            let piece = TextPiece { try Output.write(TerminalText.escapedJSON($0)) }
            try export.write { try piece.add($0) }
            return try piece.finish()
        }
        let file = try NewFile(path)
        let piece = TextPiece { try file.write($0) }
        do {
            try export.write { try piece.add($0) }
            try piece.finish()
            try file.publish()
        } catch {
            file.remove()
            throw error
        }
        bar.clear()
        try Output.write(TerminalText.escaped("exported to \(path)") + "\n")
    }
}

/// Writes everything that is stored about a user as one JSON document, while reading it: memory use does not grow with the user's data, only with the
/// largest transactions of the history.
struct UserExport {
    static let format = "habitstore-user"
    static let version = 1
    /// How many transactions of the history are read together.
    private static let transactionsAtOnce = 8

    let user: String
    let settings: Settings
    let stores: UserStores
    /// The user's named stores.
    var others: [(settings: Settings, stores: UserStores)] = []
    let progress: (Int, Int) -> Void

    func write(to write: (String) throws -> Void) throws {
        try write("{\n")
        try member("format", Self.format, write)
        try member("version", Self.version, write)
        try member("user", user, write)
        try member("exportedAt", ISODate.instant(Date()), write)
        try writeMembers(write)
        try write(",\n\"stores\" : [")
        var separator = "\n"
        for other in others {
            try write(separator + "{\n")
            try member("name", other.settings.store?.text, write)
            try UserExport(user: user, settings: other.settings, stores: other.stores, progress: progress).writeMembers(
                write
            )
            try write("\n}")
            separator = ",\n"
        }
        try write("\n]\n}\n")
    }

    /// The user's data in one set of stores.
    private func writeMembers(_ write: (String) throws -> Void) throws {
        try member("status", RolloutStatusReport.json(try stores.status(of: user)), write)
        try member("flags", try flags(), write)
        try member("backups", try stores.backups(of: user), write)
        try writeStore(write)
        try writeEvidence(write)
    }

    /// The user's flag values; null without a flag file.
    private func flags() throws -> [JSONObject]? {
        guard let path = settings.flags else { return nil }
        let snapshot = try FlagSnapshot.load(path: path, configuration: RolloutFlags.configuration)
        let resolutions = snapshot.resolveAll(context: EvaluationContext(targetingKey: user, attributes: [:]))
        return snapshot.keys.compactMap { key in resolutions[key].map { FlagOutcome(flag: key, $0).json } }
    }

    /// The records and the history, from one snapshot of the serving store.
    private func writeStore(_ write: (String) throws -> Void) throws {
        let address = try stores.currentAddress(of: user)
        let store = try address.openAsWritten(.readOnly, by: settings.engines)
        defer { store.close() }
        try store.read { transaction in
            let information = try transaction.information()
            try member("token", information.token.rawValue, write)
            try member("lineage", information.lineage.uuidString, write)
            try member("historyFloor", information.historyFloor.rawValue, write)
            try write("\"data\" : ")
            try InterchangeExport.writeDocument(of: transaction, progress: progress, to: write)
            try write(",\n\"history\" : [")
            var (token, separator) = (information.historyFloor, "\n")
            while true {
                let part = try transaction.fetchHistory(after: token, limit: Self.transactionsAtOnce)
                guard let last = part.last else { break }
                for each in part {
                    try write(separator)
                    try writeTransaction(each, write)
                    separator = ",\n"
                }
                token = last.token
            }
            try write("\n],\n")
        }
    }

    /// Writes changes one by one, because a transaction may have as many as the store has records.
    private func writeTransaction(_ transaction: HistoryTransaction, _ write: (String) throws -> Void) throws {
        let head = try Self.line(transaction.head)
        // The head is an object that is completed with the changes.
        try write(String(head.dropLast()) + ",\"changes\":[")
        for (number, change) in transaction.changes.enumerated() {
            try write((number == 0 ? "" : ",") + (try Self.line(change.json)))
        }
        try write("]}")
    }

    private func writeEvidence(_ write: (String) throws -> Void) throws {
        try write("\"evidence\" : [")
        var separator = "\n"
        try stores.enumerateEvidence(of: user) { file, line in
            let name = try Self.line(file)
            // A line that is no longer a valid record becomes a string.
            let isRecord = line.map { (try? JSONSerialization.jsonObject(with: $0)) is [String: Any] } ?? false
            let text = line.map { String(decoding: $0, as: UTF8.self) }
            let record = isRecord ? text ?? "null" : try Self.line(text)
            try write("\(separator){\"file\":\(name),\"line\":\(record)}")
            separator = ",\n"
        }
        try write("\n]")
    }

    private func member(_ name: String, _ value: some Encodable, _ write: (String) throws -> Void) throws {
        let text = try Self.line(value)
        try write("\"\(name)\" : \(text),\n")
    }

    private static func line(_ value: some Encodable) throws -> String { String(try JSON.line(value).dropLast()) }
}

/// `habitstore user erase`.
struct UserEraseCommand: ReportingCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "erase",
            abstract: "Removes everything that is kept about a user, and says what is out of reach.",
            discussion: """
                In all stores that the user has under the root: the records, also on servers, and what was set aside \
                next to them; copies of killed processes; the evidence and its archives; the user's rows in the fleet; \
                the backups that `\(Tool.name) user backup` has made, where they were made. As soon as it starts, the \
                user is not served; an interrupted erasure is finished by the next one.

                Refused while a process has the user open. With --force that process is fenced out: its next read or \
                write fails. Files are removed and not overwritten; disks and file systems may keep their contents.
                """
        )
    }

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The user.")
    var user: String?

    @Flag(help: "Only list what would be removed.")
    var dryRun = false

    @Flag(help: "Fence out processes that have the user open, stopped or running.")
    var force = false

    func validate() throws { _ = try userOptions.named(by: user) }

    func run() async throws {
        let settings = try await Settings(userOptions)
        let stores = try settings.stores(otherVersions: .asWrittenByAnyApp)
        let outcome = try stores.erase(
            try userOptions.named(by: user),
            isDry: dryRun,
            isForced: force,
            elsewhere: ExternalErasure(try StoreRoot.all(under: settings.home).map { Fleet(root: $0.path).erasure })
        )
        try output.write([
            "user": outcome.user, "isDryRun": !outcome.isDone, "items": outcome.items,
            "unreachable": outcome.unreachable,
        ]) { text(outcome) }
    }

    private func text(_ outcome: ErasureOutcome) -> String {
        let word = outcome.isDone ? "removed" : "would be removed"
        var lines = outcome.items.map { item in
            "\(word): \(item.kind) \(item.place)" + (item.sizeBytes.map { " (\($0) bytes)" } ?? "")
        }
        lines += outcome.unreachable.map { "out of reach: \($0)" }
        lines.append(outcome.isDone ? "erased" : "nothing was removed")
        return lines.map { TerminalText.escaped($0) + "\n" }.joined()
    }
}

/// `habitstore user`.
struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Backs up, restores, exports and erases a user, and lists the copies that migrations made.",
        subcommands: [
            UserBackupCommand.self, UserRestoreCommand.self, UserExportCommand.self, UserCopiesCommand.self,
            UserEraseCommand.self,
        ]
    )
}

/// The user that a command names by its first argument or with `--user`. There is no default: the user in the environment does not count.
extension UserOptions {
    /// - Parameter argument: the first argument; nil if there is none.
    /// - Throws: a usage error if neither names a user, or both do.
    func named(by argument: String?) throws -> String {
        guard users.count <= 1, (argument == nil) != users.isEmpty, let name = argument ?? user else {
            throw ValidationError("name one user, as the first argument or with --user")
        }
        AdvisedUser.note(self, user: name, isNamed: true)
        return name
    }

    /// - Parameter arguments: the arguments, beginning with the user unless `--user` names one.
    /// - Returns: the user and the other arguments.
    func named(by arguments: [String]) throws -> (user: String, others: [String]) {
        if users.isEmpty { return (try named(by: arguments.first), Array(arguments.dropFirst())) }
        return (try named(by: nil), arguments)
    }
}
