import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

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
            try FileFailure.told { try DurableFile.move(draft, to: trimmed) }
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
        try FileFailure.told {
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
            try write((number == 0 ? "" : ",\n") + "    \(JSONText.quoted(entity.name)) : [")
            let columns = InterchangeColumn.all(of: entity)
            let names = columns.map { JSONText.quoted($0.name) + ": " }
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
