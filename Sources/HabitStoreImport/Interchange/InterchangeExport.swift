import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import JSONText

/// Writes all records of a store for other programs, with identifiers and links, so that every value can be read back exactly. Records are
/// streamed from one moment of the store and are never all in memory.
///
/// A store's other contents (history, tokens, its identity) are not exported.
public struct InterchangeExport {
    private let store: any HabitStore
    private let format: InterchangeFormat

    /// Prepares an export of a store.
    public init(_ store: any HabitStore, as format: InterchangeFormat) {
        self.store = store
        self.format = format
    }

    /// Writes the export: a new file, or a new folder for CSV. It gets its name only when it is complete.
    ///
    /// - Parameter progress: called with the number of records written and their total.
    /// - Returns: the number of records of each entity.
    /// - Throws: ``HabitStoreError/Code/unsupported`` if the path already exists.
    public func write(to path: String, progress: (Int, Int) -> Void = { _, _ in }) throws -> [(
        entity: String, count: Int
    )] {
        var status = stat()
        guard lstat(path, &status) != 0 else {
            throw HabitStoreError(
                .unsupported,
                "there is something here already, and nothing is written over; name another place",
                at: .init(path: path)
            )
        }
        let trimmed = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        let draft = trimmed + ".\(UUID().uuidString.prefix(8)).new"
        do {
            let counts = try store.read { transaction -> [(entity: String, count: Int)] in
                guard format == .csv else { return try writeDocument(draft, transaction, progress) }
                let (header, counts) = try Self.header(transaction)
                try writeFolder(draft, header, transaction, counts.reduce(0) { $0 + $1.count }, progress)
                return counts
            }
            try FileFailure.mappingErrors { try DurableFile.move(draft, to: trimmed) }
            return counts
        } catch {
            try? FileManager.default.removeItem(atPath: draft)
            throw error
        }
    }

    private func writeFolder(
        _ folder: String,
        _ header: InterchangeHeader,
        _ transaction: any ReadTransaction,
        _ total: Int,
        _ progress: (Int, Int) -> Void
    ) throws {
        try PrivateFolder.make(folder, isNew: true, or: .inputOutput, "no folder can be made here; name another place")
        var done = 0
        for entity in transaction.schema.entities {
            let file = try BufferedFile("\(folder)/\(entity.name).csv")
            let columns = InterchangeColumn.all(of: entity)
            try file.write(columns.map { ValueText.quoted($0.name) }.joined(separator: ",") + "\r\n")
            try Self.forEachRecord(of: entity, transaction) { values in
                try file.write(
                    try columns.map { try ValueText.field(values[$0.attribute], $0) }.joined(separator: ",") + "\r\n"
                )
                done += 1
                progress(done, total)
            }
            try file.finish()
        }
        let manifest = try header.encoded()
        try FileFailure.mappingErrors {
            try DurableFile.create("\(folder)/\(InterchangeHeader.manifestName)", manifest)
            try DurableFile.synchronizeFolder(of: folder + "/")
        }
    }

    private func writeDocument(
        _ path: String,
        _ transaction: any ReadTransaction,
        _ progress: (Int, Int) -> Void
    ) throws -> [(entity: String, count: Int)] {
        let file = try BufferedFile(path)
        let counts = try Self.writeDocument(of: transaction, progress: progress) { try file.write($0) }
        try file.finish()
        return counts
    }

    private static func header(
        _ transaction: any ReadTransaction
    ) throws -> (header: InterchangeHeader, counts: [(entity: String, count: Int)]) {
        let counts = try transaction.schema.entities.map { entity in
            (entity: entity.name, count: try transaction.countRecords(RecordQuery(entity: entity.name)))
        }
        let header = InterchangeHeader(
            transaction.schema,
            counts: Dictionary(uniqueKeysWithValues: counts.map { ($0.entity, $0.count) })
        )
        return (header, counts)
    }

    /// Writes the JSON export of one moment in pieces, for callers that embed it in another document.
    ///
    /// - Parameters:
    ///   - progress: called with the number of records written and their total.
    ///   - write: receives each piece.
    /// - Returns: the number of records of each entity.
    @discardableResult
    package static func writeDocument(
        of transaction: any ReadTransaction,
        progress: (Int, Int) -> Void = { _, _ in },
        to write: (String) throws -> Void
    ) throws -> [(entity: String, count: Int)] {
        let (header, counts) = try header(transaction)
        let total = counts.reduce(0) { $0 + $1.count }
        let text = String(decoding: try header.encoded(), as: UTF8.self)
        // The header is an object; the records are appended to it.
        try write(String(text.dropLast(3)) + ",\n  \"records\" : {\n")
        var done = 0
        for (number, entity) in transaction.schema.entities.enumerated() {
            try write((number == 0 ? "" : ",\n") + "    \(JSON.quoted(entity.name)) : [")
            let columns = InterchangeColumn.all(of: entity)
            let names = columns.map { JSON.quoted($0.name) + ": " }
            var separator = "\n"
            try forEachRecord(of: entity, transaction) { values in
                let members = zip(columns, names).map { $1 + ValueJSON.text(values[$0.attribute], $0) }
                try write(separator + "      {" + members.joined(separator: ", ") + "}")
                separator = ",\n"
                done += 1
                progress(done, total)
            }
            try write(separator == "\n" ? "]" : "\n    ]")
        }
        try write("\n  }\n}\n")
        return counts
    }

    private static func forEachRecord(
        of entity: EntityDescription,
        _ transaction: any ReadTransaction,
        _ body: ([Value]) throws -> Void
    ) throws {
        let fetch = try PreparedFetch(RecordQuery(entity: entity.name), schema: transaction.schema)
        try transaction.enumerateRows(fetch) { row in
            try body(try entity.attributes.indices.map { try row.value(at: $0) })
            return true
        }
    }
}

/// The formats in which records are exported to other programs and read back.
public enum InterchangeFormat: String, Sendable, CaseIterable, Codable {
    /// A folder with a CSV file for each entity and a manifest.
    case csv
    /// One JSON document.
    case json
}

/// The description of an export, in `manifest.json` or before the records.
struct InterchangeHeader: Codable, Equatable {
    static let format = "habitstore-export"
    static let currentVersion = 1
    static let manifestName = "manifest.json"

    var format = Self.format
    var version = Self.currentVersion
    let schemaVersion: Schema.Version
    let schema: [EntityShape]
    /// The number of records of each entity.
    let counts: [String: Int]

    init(_ schema: Schema, counts: [String: Int]) {
        schemaVersion = schema.version
        self.schema = schema.entities.map(EntityShape.init)
        self.counts = counts
    }

    /// Decodes a header, ignoring other members.
    ///
    /// - Throws: ``HabitStoreError/Code/newerVersion`` if the version is newer.
    init(_ data: Data, path: String) throws {
        struct Version: Codable {
            let format: String
            let version: Int
        }
        do {
            try JSON.require(Array(data), JSONParser.Rules(), path: path)
            let version = try JSONDecoder().decode(Version.self, from: data)
            guard version.format == Self.format else { throw Self.foreign(path) }
            guard version.version <= Self.currentVersion else {
                throw HabitStoreError(
                    .newerVersion,
                    "the export is of version \(version.version); this program reads \(Self.currentVersion)",
                    at: .init(path: path)
                )
            }
            self = try JSONDecoder().decode(Self.self, from: data)
        } catch let error as DecodingError {
            throw HabitStoreError(
                .invalidSource,
                "the export's header is damaged, or this is not an export of this program",
                at: .init(path: path),
                underlying: error
            )
        }
    }

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self) + Data([UInt8(ascii: "\n")])
    }

    /// The schema of a store that takes everything: the app's if it has the same shape, else one without Swift types.
    func derivedSchema(preferring app: Schema?) throws -> Schema {
        if let app, schema == app.entities.map(EntityShape.init) { return app }
        let derived = Schema(shapes: schema, version: schemaVersion)
        try derived.validate()
        return derived
    }

    /// Throws unless a schema has the same attributes.
    func require(_ target: Schema, path: String) throws {
        for entity in schema {
            guard let other = target.entities.first(where: { $0.name == entity.name }) else {
                throw mismatch("it has \(entity.name), which the store does not have", path)
            }
            let mine = entity.attributes.map { ($0.name, $0.kind, $0.isOptional) }
            let others = other.attributes.map { ($0.name, $0.kind, $0.isOptional) }
            for attribute in mine where !others.contains(where: { $0 == attribute }) {
                throw mismatch("\(entity.name).\(attribute.0) differs in the store, or is missing there", path)
            }
            for attribute in others where !mine.contains(where: { $0 == attribute }) {
                throw mismatch("it lacks \(entity.name).\(attribute.0), which the store has", path)
            }
        }
    }

    private func mismatch(_ message: String, _ path: String) -> HabitStoreError {
        HabitStoreError(
            .schemaMismatch,
            "the export is of schema version \(schemaVersion), and does not fit: \(message); "
                + "--into a new store takes it unchanged",
            at: .init(path: path)
        )
    }

    private static func foreign(_ path: String) -> HabitStoreError {
        HabitStoreError(.unknownFormat, "this is not an export of this program", at: .init(path: path))
    }
}

/// A CSV column or a JSON member: an attribute, or the exact number of a date attribute.
struct InterchangeColumn: Equatable {
    let name: String
    /// The index of the attribute.
    let attribute: Int
    let kind: AttributeKind
    let isOptional: Bool
    /// Whether it holds a date's exact seconds since 2001-01-01 UTC, in addition to the date as text.
    let isExact: Bool

    private static let suffix = "Reference"

    /// The columns of an entity, in the order of its attributes.
    static func all(of entity: EntityDescription) -> [InterchangeColumn] {
        let names = Set(entity.attributes.map(\.name))
        return entity.attributes.enumerated().flatMap { position, attribute -> [InterchangeColumn] in
            let column = InterchangeColumn(
                name: attribute.name,
                attribute: position,
                kind: attribute.kind,
                isOptional: attribute.isOptional,
                isExact: false
            )
            guard attribute.kind == .date else { return [column] }
            var name = attribute.name + suffix
            while names.contains(name) { name += "_" }
            let exact = InterchangeColumn(
                name: name,
                attribute: position,
                kind: .double,
                isOptional: true,
                isExact: true
            )
            return [column, exact]
        }
    }

    /// The date from its two columns. The exact number applies unless the text was edited.
    static func date(words: String?, exact: Double?) -> Value? {
        guard let exact, exact.isFinite else { return words.flatMap(InstantText.parse).map { .date($0) } }
        let date = Date(timeIntervalSinceReferenceDate: exact)
        guard let words, words != InstantText.text(date) else { return .date(date) }
        return InstantText.parse(words).map { .date($0) }
    }
}
