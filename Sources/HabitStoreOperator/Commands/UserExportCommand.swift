import ArgumentParser
import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreReports
import HabitStoreRollout

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
        try stores.check(user)
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
