import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreOperator
import HabitStoreReports
import HabitStoreRollout

/// `habitstore inspect FILE`.
struct InspectCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract:
            "Shows the content of a file of another app, or of a store: entities, attributes, relationships, history, oddities.",
        discussion: """
            Reads Core Data and SwiftData files without opening them as databases: the file, its -wal and its -journal \
            are copied, and nothing about them changes. For stores, only the first attributes of wide entities are \
            shown; --format json has all.
            """
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The file.")
    var file: String

    func run() async throws {
        // Opening a Core Data file reports why it cannot be read; a store is better inspected as a store.
        let kind = SourceKind(path: file)
        if kind == .habitStore || (kind == .other && (try? StoreAddress(argument: file).outline(by: .known)) != nil) {
            return try inspectStore()
        }
        let source = try CoreDataFile(path: file)
        defer { source.close() }
        let bar = ProgressBar(isQuiet: output.format == .json)
        defer { bar.clear() }
        let inspection = try CoreDataInspection(source) { bar.show("records", $0, $1) }
        bar.clear()
        switch output.format {
        case .json: try JSON.write(inspection)
        case .text: try Output.write(InspectionText(inspection).text(Terminal.options()))
        }
    }

    private func inspectStore() throws {
        let address = try StoreAddress(argument: file)
        let store = try address.openAsWritten(.readOnly, by: .known)
        defer { store.close() }
        let (information, counts) = try store.replicaRead { replica in
            (try replica.information(), try store.schema.entities.indices.map { try replica.count(entity: $0) })
        }
        StandardError.noteIfUnfinished(information.role)
        switch output.format {
        case .json:
            let entities = zip(store.schema.entities, counts).map { Self.json($0, $1) }
            try JSON.write(
                JSON.object([
                    "path": .string(address.path),
                    "kind": .string("habitStore"),
                    "engine": .string(address.engine.rawValue),
                    "storeID": .string(information.storeID.uuidString),
                    "token": .int(Int(information.token.rawValue)),
                    "entities": .array(entities),
                ])
            )
        case .text:
            var text = "\(TerminalText.escaped(file)): a store of this package (\(address.engine.rawValue))\n\n"
            var table = TextTable([.init("entity"), .init("records", alignment: .right), .init("attributes")])
            for (entity, count) in zip(store.schema.entities, counts) {
                let names = entity.attributes.map { "\($0.name) \($0.kind.rawValue)\($0.isOptional ? "?" : "")" }
                table.append([entity.name, String(count), names.listed()])
            }
            text += table.text(Terminal.options())
            try Output.write(text)
        }
    }

    private static func json(_ entity: EntityDescription, _ count: Int) -> JSON {
        .object([
            "name": .string(entity.name),
            "count": .int(count),
            "attributes": .array(
                entity.attributes.map {
                    .object([
                        "name": .string($0.name), "kind": .string($0.kind.rawValue), "isOptional": .bool($0.isOptional),
                    ])
                }
            ),
            "relationships": .array(
                entity.relationships.map {
                    .object([
                        "name": .string($0.name), "destination": .string($0.destination),
                        "inverse": .optional($0.inverse),
                    ])
                }
            ),
        ])
    }
}
