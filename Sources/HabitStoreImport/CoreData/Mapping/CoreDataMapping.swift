import Foundation
import HabitStore

/// What becomes of a Core Data file in a store of a given schema: a file in JSON, which `habitstore import coredata FILE
/// --suggest-mapping` prints to be edited.
///
/// ```json
/// {"format": 1, "entities": [
///   {"source": "OCKCDTask", "target": "Habit", "identity": "uuid",
///    "attributes": {"title": "name", "effectiveDate": "createdAt", "asset": null},
///    "relationships": {},
///    "constants": {"streak": 0, "isArchived": false, "timesPerPeriod": 1, "periodDays": 1}},
///   {"source": "OCKCDNote", "target": null}]}
/// ```
/// Names on the left are the file's, names on the right the schema's; null, or to be left out, means that there is no place
/// for it: it is counted, and kept in the attachment. An entity that is left out is mapped as the one that it inherits from.
public struct CoreDataMapping: Sendable, Hashable, Codable {
    /// What becomes of one entity.
    public struct Entity: Sendable, Hashable, Codable {
        /// The entity in the file.
        public var source: String
        /// The entity in the schema; nil for none.
        public var target: String?
        /// The attribute whose UUIDs are the identifiers; nil for identifiers that are made of the keys.
        public var identity: String?
        /// The schema's attributes by the file's.
        public var attributes: [String: String?]
        /// The schema's relationships by the file's.
        public var relationships: [String: String?]
        /// Values that are the same for each record, by the schema's attributes.
        public var constants: [String: MappedConstant]
        /// Of a list that is no Core Data entity: the column by which others lead to its rows.
        public var key: String?
        /// Of such a list: how it writes days and instants, where not as `2026-01-31`.
        public var dates: String?
        /// Of such a list: the values that columns have in the rows that are meant; others are kept beside the store.
        public var only: [String: [MappedConstant]] = [:]
        /// Of a list with a column for each habit: these columns; `*` for all that are not mapped otherwise.
        public var columns: [String]?
        /// What there is to know of attributes and columns, for whoever edits the mapping; nothing reads it.
        public var about: [String: String] = [:]

        /// Makes an entity's mapping.
        public init(
            source: String,
            target: String?,
            identity: String? = nil,
            attributes: [String: String?] = [:],
            relationships: [String: String?] = [:],
            constants: [String: MappedConstant] = [:]
        ) {
            (self.source, self.target, self.identity) = (source, target, identity)
            (self.attributes, self.relationships, self.constants) = (attributes, relationships, constants)
        }

        private enum CodingKeys: String, CodingKey {
            case source, target, identity, attributes, relationships, constants, key, dates, only, columns, about
        }

        /// Reads an entity's mapping; what is left out is empty.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            source = try container.decode(String.self, forKey: .source)
            target = try container.decodeIfPresent(String.self, forKey: .target)
            identity = try container.decodeIfPresent(String.self, forKey: .identity)
            attributes = try container.decodeIfPresent([String: String?].self, forKey: .attributes) ?? [:]
            relationships = try container.decodeIfPresent([String: String?].self, forKey: .relationships) ?? [:]
            constants = try container.decodeIfPresent([String: MappedConstant].self, forKey: .constants) ?? [:]
            key = try container.decodeIfPresent(String.self, forKey: .key)
            dates = try container.decodeIfPresent(String.self, forKey: .dates)
            only = try container.decodeIfPresent([String: [MappedConstant]].self, forKey: .only) ?? [:]
            columns = try container.decodeIfPresent([String].self, forKey: .columns)
            about = try container.decodeIfPresent([String: String].self, forKey: .about) ?? [:]
        }

        /// Writes the mapping, what is mapped to nothing as null.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(source, forKey: .source)
            try container.encode(target, forKey: .target)
            try container.encodeIfPresent(identity, forKey: .identity)
            if !about.isEmpty { try container.encode(about, forKey: .about) }
            if target != nil || !attributes.isEmpty { try container.encode(attributes, forKey: .attributes) }
            if !relationships.isEmpty { try container.encode(relationships, forKey: .relationships) }
            if !constants.isEmpty { try container.encode(constants, forKey: .constants) }
            try container.encodeIfPresent(key, forKey: .key)
            try container.encodeIfPresent(dates, forKey: .dates)
            if !only.isEmpty { try container.encode(only, forKey: .only) }
            try container.encodeIfPresent(columns, forKey: .columns)
        }
    }

    /// The version of the format.
    public static let currentFormat = 1

    /// The version of the format that it is written in.
    public var format: Int
    /// The entities.
    public var entities: [Entity]

    /// Makes a mapping.
    public init(entities: [Entity]) {
        format = Self.currentFormat
        self.entities = entities
    }

    /// Reads a mapping.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` with what is wrong and where, ``HabitStoreError/Code/newerVersion`` for
    ///   a format that is not known.
    public init(parsing data: Data, path: String? = nil) throws {
        do {
            self = try JSONDecoder().decode(Self.self, from: data)
        } catch {
            throw HabitStoreError(
                .invalidValue,
                "the mapping cannot be read: \(Self.words(error))",
                at: .init(path: path),
                underlying: error
            )
        }
        guard format <= Self.currentFormat else {
            throw HabitStoreError(
                .newerVersion,
                "the mapping has format \(format); \(Self.currentFormat) is the newest that is known",
                at: .init(path: path)
            )
        }
    }

    /// Reads the mapping in a file.
    ///
    /// - Throws: as ``init(parsing:path:)`` does, and ``HabitStoreError/Code/inputOutput`` when there is no such file.
    public init(path: String) throws {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw HabitStoreError(.inputOutput, "the mapping cannot be read", at: .init(path: path), underlying: error)
        }
        try self.init(parsing: data, path: path)
    }

    /// Holds the mapping against a file and a schema, so that a slip is found before there is a store.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` with the entity and the property that do not fit.
    public func require(fits file: CoreDataFile, schema: Schema) throws {
        _ = try MappedPlan(self, file, schema).plan()
    }

    /// The mapping as JSON.
    public func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
    }

    private static func words(_ error: any Error) -> String {
        func place(_ context: DecodingError.Context) -> String {
            let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
            return path.isEmpty ? "" : " at \(path)"
        }
        switch error as? DecodingError {
        case .keyNotFound(let key, let context): return "\(key.stringValue) is missing\(place(context))"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            return "a value of another type\(place(context))"
        case .dataCorrupted(let context): return "it is no JSON\(place(context))"
        default: return "it is no JSON"
        }
    }
}
