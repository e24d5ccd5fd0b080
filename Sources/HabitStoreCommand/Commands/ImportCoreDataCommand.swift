import ArgumentParser
import Foundation
import HabitStore
import HabitStoreImport
import HabitStoreRollout
import HabitTracking

/// `habitstore import coredata FILE`.
struct ImportCoreDataCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "coredata",
        abstract: "Brings a Core Data or SwiftData file into a store.",
        discussion: """
            The file is copied and never opened as a database; nothing about it changes. With --into the store gets a schema \
            that is derived from the file's model, and the file's history with its authors and times. Run again, it applies \
            what the file's history tells since, transaction by transaction; without a history every record is compared, and \
            what the file no longer has is counted and left. What the store has no place for is kept beside it, in a file \
            with one JSON object a line.
            """
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The file.")
    var file: String

    @Option(
        help: ArgumentHelp("The store; made if there is none: sqlite:PATH, lmdb:PATH, or a path.", valueName: "store")
    )
    var into: String?

    @Flag(help: "Go on applying what the file's app writes, until interrupted. Needs the file's persistent history.")
    var follow = false

    @Option(help: ArgumentHelp("How often --follow looks at the file.", valueName: "seconds"))
    var every = 1.0

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        guard every.isFinite, every > 0 else { throw ValidationError("--every is \(every); it has to be more than 0") }
        guard into != nil else { throw ValidationError("name the store to import into: --into sqlite:PATH") }
    }

    func run() async throws {
        let address = try parsedTarget()
        let mirror = CoreDataMirror(path: file) { source in try Self.open(address, for: source) }
        let bar = ProgressBar(isQuiet: quiet || output.format == .json)
        defer { bar.clear() }
        var options = CoreDataImporter.Options()
        options.requiresHistory = follow
        let report = try mirror.update(options) { bar.show("importing", $0, $1) }
        bar.clear()
        if let report { try show(report) }
        guard follow else { return }
        while true {
            try await Task.sleep(for: .seconds(every))
            guard let next = try mirror.update(options, progress: { bar.show("following", $0, $1) }) else { continue }
            bar.clear()
            try show(next)
        }
    }

    private func parsedTarget() throws -> StoreAddress {
        let text = into ?? ""
        do {
            return try StoreAddress(parsing: text)
        } catch let error as HabitStoreError where error.code == .notFound {
            throw CommandFailure.usage(
                "\(text): there is no store here whose kind could be recognised; "
                    + "name the kind of the new one, as sqlite:PATH or lmdb:PATH"
            )
        }
    }

    private static func open(_ address: StoreAddress, for source: CoreDataFile) throws -> any UserStoreBackend {
        let exists = FileManager.default.fileExists(atPath: address.path)
        let outline = exists ? try address.outline() : nil
        return try address.open(.create, schema: CoreDataTarget.schema(for: source, outline: outline))
    }

    private func show(_ report: CoreDataImportReport) throws {
        switch output.format {
        case .json: try JSON.write(report)
        case .text: try Output.write(ImportText(report).text(Terminal.options()))
        }
    }
}
