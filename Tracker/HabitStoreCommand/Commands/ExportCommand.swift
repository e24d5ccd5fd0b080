import ArgumentParser
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreOperator
import HabitStoreRollout

/// `habitstore export PATH`.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Writes all records for other programs, so that `habitstore import` reads them back to the last bit.",
        discussion: """
            csv: a folder with a file for each entity (RFC 4180) and a manifest. json: one document. Each date is \
            written twice: in words, and as exact seconds since 2001; to edit one, change the words. The history is \
            not exported.

            Without --store the user's current store is exported; it is opened read-only, and never switched.
            """
    )

    @OptionGroup var userOptions: UserOptions

    @Argument(help: "The file to create, or for csv the folder.")
    var path: String

    @Option(help: "The format of the export.")
    var format: InterchangeFormat

    @Option(help: "The store: sqlite:PATH, lmdb:PATH, or a path. [default: the user's]")
    var store: String?

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        guard store == nil || !userOptions.isGiven else {
            throw ValidationError("--store names a store, and --root and --user another one; give one of them")
        }
    }

    func run() async throws {
        let store = try await open()
        defer { store.close() }
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        let counts = try InterchangeExport(store, as: format).write(to: path) { bar.show("exporting", $0, $1) }
        bar.clear()
        let words = counts.map { "\($0.count) \($0.entity)" }.joined(separator: ", ")
        try Output.write("exported \(words)\n")
    }

    private func open() async throws -> any UserStoreBackend {
        if let store { return try StoreAddress(argument: store).openAsWritten(.readOnly, by: .known) }
        let settings = try await Settings(userOptions)
        let address = try settings.stores().currentAddress(of: settings.user)
        return try address.openAsWritten(.readOnly, by: settings.engines)
    }
}

extension InterchangeFormat: ExpressibleByArgument {}
