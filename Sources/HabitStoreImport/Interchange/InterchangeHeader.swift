import Foundation
@_spi(Engines) import HabitStore

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
            try JSONDepth.require(data, path: path)
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
