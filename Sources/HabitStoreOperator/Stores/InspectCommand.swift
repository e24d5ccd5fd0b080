import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreRollout
import JSONText

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
        try output.write(inspection) { InspectionText(inspection).text(Terminal.options()) }
    }

    private func inspectStore() throws {
        let address = try StoreAddress(argument: file)
        let store = try address.openAsWritten(.readOnly, by: .known)
        defer { store.close() }
        let (information, counts) = try store.replicaRead { replica in
            (try replica.information(), try store.schema.entities.indices.map { try replica.count(entity: $0) })
        }
        StandardError.noteIfUnfinished(information.role)
        let entities = zip(store.schema.entities, counts).map { Self.json($0, $1) }
        try output.write([
            "path": address.path,
            "kind": "habitStore",
            "engine": address.engine.rawValue,
            "storeID": information.storeID.uuidString,
            "token": information.token.rawValue,
            "entities": entities,
        ]) {
            var text = "\(TerminalText.escaped(file)): a store of this package (\(address.engine.rawValue))\n\n"
            var table = TextTable([.init("entity"), .init("records", alignment: .right), .init("attributes")])
            for (entity, count) in zip(store.schema.entities, counts) {
                let names = entity.attributes.map { "\($0.name) \($0.kind.rawValue)\($0.isOptional ? "?" : "")" }
                table.append([entity.name, String(count), names.listed()])
            }
            text += table.text(Terminal.options())
            return text
        }
    }

    private static func json(_ entity: EntityDescription, _ count: Int) -> JSONObject {
        [
            "name": entity.name,
            "count": count,
            "attributes": entity.attributes.map {
                ["name": $0.name, "kind": $0.kind.rawValue, "isOptional": $0.isOptional] as JSONObject
            },
            "relationships": entity.relationships.map {
                ["name": $0.name, "destination": $0.destination, "inverse": $0.inverse] as JSONObject
            },
        ]
    }
}

/// The text output of a Core Data file's inspection.
struct InspectionText {
    private let inspection: CoreDataInspection

    init(_ inspection: CoreDataInspection) { self.inspection = inspection }

    func text(_ options: TerminalOptions) -> String {
        var text = header(options)
        for entity in inspection.entities { text += "\n" + self.entity(entity, options) }
        text += "\n" + oddities(options)
        return text
    }

    private func header(_ options: TerminalOptions) -> String {
        let metadata = inspection.metadata
        var table = TextTable([.init("", canShrink: false), .init("")])
        table.append(["file", inspection.path])
        table.append(["kind", "Core Data" + (metadata.frameworkVersion.map { ", written by version \($0)" } ?? "")])
        table.append(["store", metadata.storeID])
        let versions = metadata.modelVersions.isEmpty ? "" : " \(metadata.modelVersions.joined(separator: ", "))"
        let origin = inspection.modelOrigin == .modelCache ? "kept in the file" : "guessed from the tables"
        table.append([
            "model\(versions.isEmpty ? "" : " version")",
            "\(versions.isEmpty ? "" : versions.dropFirst() + ", ")\(origin)",
        ])
        if !metadata.appKeys.isEmpty { table.append(["keys of the app", metadata.appKeys.joined(separator: ", ")]) }
        let records = inspection.entities.reduce(0) { $0 + $1.count }
        table.append(["records", "\(records) of \(inspection.entities.count) entities"])
        table.append(["history", history])
        return table.text(options)
    }

    private var history: String {
        guard let history = inspection.history else { return "none: the file can be imported, but not followed" }
        let authors = history.authors.isEmpty ? "" : ", by " + history.authors.joined(separator: ", ")
        let kept = history.tombstones > 0 ? " (\(history.tombstones) with a tombstone)" : ""
        let range = history.transactions == 0 ? "" : " (\(history.first) to \(history.last))"
        return "\(history.transactions) transactions\(range): \(history.inserts) inserts, \(history.updates) updates, "
            + "\(history.deletes) deletes\(kept)\(authors)"
    }

    private func entity(_ item: CoreDataInspection.Entity, _ options: TerminalOptions) -> String {
        let entity = item.entity
        var title = "\(entity.name): \(item.count) \(item.count == 1 ? "record" : "records")"
        if let parent = entity.superentity { title += ", a kind of \(parent)" }
        if entity.isAbstract { title += ", abstract" }
        title += ", in \(entity.table)"
        var table = TextTable([
            .init("", canShrink: false), .init("", canShrink: false), .init(""), .init(""), .init(""),
        ])
        for attribute in entity.attributes {
            table.append([
                "", attribute.name, type(attribute), attribute.column ?? "no column", remarks(attribute, entity),
            ])
        }
        for relationship in entity.relationships {
            table.append([
                "", relationship.name, target(relationship), place(relationship), remarks(relationship, entity),
            ])
        }
        if !entity.notStored.isEmpty {
            table.append(["", entity.notStored.joined(separator: ", "), "not stored"])
        }
        for group in entity.uniqueness { table.append(["", "unique: \(group.joined(separator: ", "))"]) }
        return TerminalText.escaped(title) + "\n" + table.text(options)
    }

    private func type(_ attribute: CoreDataAttribute) -> String {
        attribute.type.name + (attribute.isOptional ? "?" : "")
    }

    private func remarks(_ attribute: CoreDataAttribute, _ entity: CoreDataEntity) -> String {
        var parts: [String] = []
        if attribute.isGuessed { parts.append("guessed") }
        if attribute.isDerived { parts.append("derived") }
        if attribute.allowsExternalStorage { parts.append("external storage") }
        if let value = attribute.defaultValue { parts.append("default \(value)") }
        if attribute.type == .transformable {
            parts += [attribute.valueClass, attribute.transformer].compactMap { $0 }.map { "by \($0)" }
        }
        if attribute.declaredIn != entity.name { parts.append("of \(attribute.declaredIn)") }
        return parts.joined(separator: ", ")
    }

    private func target(_ relationship: CoreDataRelationship) -> String {
        let arrow = relationship.isToMany ? (relationship.isOrdered ? "[ordered] " : "[] ") : ""
        let inverse = relationship.inverse.map { ", inverse \($0)" } ?? ", no inverse"
        return
            "→ \(arrow)\(relationship.destination)\(relationship.isToMany || !relationship.isOptional ? "" : "?")\(inverse)"
    }

    private func place(_ relationship: CoreDataRelationship) -> String {
        switch relationship.storage {
        case .column(let column, let second): return second.map { "\(column), \($0)" } ?? column
        case .otherSide(let column): return "\(column) of the other side"
        case .table(let table, _, _): return "table \(table)"
        case .missing: return "not found"
        }
    }

    private func remarks(_ relationship: CoreDataRelationship, _ entity: CoreDataEntity) -> String {
        var parts: [String] = []
        if relationship.isGuessed { parts.append("guessed") }
        if let order = relationship.orderColumn { parts.append("order in \(order)") }
        if !["nullify", "noAction"].contains(relationship.deleteRule) { parts.append(relationship.deleteRule) }
        if relationship.declaredIn != entity.name { parts.append("of \(relationship.declaredIn)") }
        return parts.joined(separator: ", ")
    }

    private func oddities(_ options: TerminalOptions) -> String {
        if inspection.oddities.isEmpty { return "no oddities\n" }
        let count = inspection.oddities.count
        var text = "\(count) \(count == 1 ? "oddity" : "oddities")\n"
        for oddity in inspection.oddities { text += "- \(TerminalText.escaped(oddity.message))\n" }
        return text
    }
}
