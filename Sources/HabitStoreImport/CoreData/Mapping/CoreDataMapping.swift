import Foundation
import HabitStore

/// Maps a Core Data file to a store with a given schema: a JSON file, which `habitstore import coredata FILE --suggest-mapping` prints for
/// editing.
///
/// ```json
/// {"format": 1, "entities": [
///   {"source": "OCKCDTask", "target": "Habit", "identity": "uuid",
///    "attributes": {"title": "name", "effectiveDate": "createdAt", "asset": null},
///    "relationships": {},
///    "constants": {"streak": 0, "isArchived": false, "timesPerPeriod": 1, "periodDays": 1}},
///   {"source": "OCKCDNote", "target": null}]}
/// ```
/// Names on the left are the file's, names on the right the schema's. A property that is null or left out has no place in the store: it is
/// counted and kept in the attachment. An entity that is left out is mapped like the one it inherits from.
public struct CoreDataMapping: Sendable, Hashable, Codable {
    /// The mapping of one entity.
    public struct Entity: Sendable, Hashable, Codable {
        /// The entity in the file.
        public var source: String
        /// The entity in the schema; nil if it is not imported.
        public var target: String?
        /// The attribute whose UUIDs become the identifiers; nil to derive identifiers from keys.
        public var identity: String?
        /// The schema's attributes, by the file's.
        public var attributes: [String: String?]
        /// The schema's relationships, by the file's.
        public var relationships: [String: String?]
        /// Values that are the same for every record, by the schema's attributes.
        public var constants: [String: MappedConstant]
        /// For a list that is not a Core Data entity: the column by which others refer to its rows.
        public var key: String?
        /// For such a list: the format of its days and instants, if not `2026-01-31`.
        public var dates: String?
        /// For such a list: the values that select the rows to import; other rows are kept next to the store.
        public var only: [String: [MappedConstant]] = [:]
        /// For a list with a column per habit: these columns; `*` for all that are not mapped otherwise.
        public var columns: [String]?
        /// Information on attributes and columns for the person who edits the mapping; ignored by the import.
        public var about: [String: String] = [:]
        /// What the suggestion is not sure of, by attribute or column, or `target` for the list as a whole. An import refuses a mapping
        /// with questions: to answer one, edit the mapping and delete it.
        public var questions: [String: String] = [:]

        /// Creates the mapping of an entity.
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
            case source, target, identity, attributes, relationships, constants, key, dates, only, columns, about,
                questions
        }

        /// Decodes the mapping of an entity; missing keys are empty.
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
            questions = try container.decodeIfPresent([String: String].self, forKey: .questions) ?? [:]
        }

        /// Encodes the mapping, with null for what is not imported.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(source, forKey: .source)
            try container.encode(target, forKey: .target)
            try container.encodeIfPresent(identity, forKey: .identity)
            if !about.isEmpty { try container.encode(about, forKey: .about) }
            if !questions.isEmpty { try container.encode(questions, forKey: .questions) }
            if target != nil || !attributes.isEmpty { try container.encode(attributes, forKey: .attributes) }
            if !relationships.isEmpty { try container.encode(relationships, forKey: .relationships) }
            if !constants.isEmpty { try container.encode(constants, forKey: .constants) }
            try container.encodeIfPresent(key, forKey: .key)
            try container.encodeIfPresent(dates, forKey: .dates)
            if !only.isEmpty { try container.encode(only, forKey: .only) }
            try container.encodeIfPresent(columns, forKey: .columns)
        }
    }

    /// The current version of the format.
    public static let currentFormat = 1

    /// The version of the format of this mapping.
    public var format: Int
    /// The entities.
    public var entities: [Entity]

    /// Creates a mapping.
    public init(entities: [Entity]) {
        format = Self.currentFormat
        self.entities = entities
    }

    /// Parses a mapping.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` with the error and its place, ``HabitStoreError/Code/newerVersion`` if the format is
    ///   unknown.
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

    /// Parses the mapping in a file.
    ///
    /// - Throws: the errors of ``init(parsing:path:)``, and ``HabitStoreError/Code/inputOutput`` if the file cannot be read.
    public init(path: String) throws {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw HabitStoreError(.inputOutput, "the mapping cannot be read", at: .init(path: path), underlying: error)
        }
        try self.init(parsing: data, path: path)
    }

    /// The open questions, each with the list and the column that it is about.
    package var openQuestions: [String] {
        entities.flatMap { entity in
            entity.questions.sorted { $0.key < $1.key }.map { "\(entity.source).\($0.key): \($0.value)" }
        }
    }

    /// Refuses a mapping with open questions, which need knowledge of the app.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` with the first question.
    package func requireAnswers(at path: String? = nil) throws {
        let open = openQuestions
        guard let first = open.first else { return }
        let more = open.count > 1 ? " (and \((open.count - 1).counted("more question")))" : ""
        throw HabitStoreError(
            .invalidValue,
            "the mapping has an open question, \(first)\(more): edit the mapping, then delete the question",
            at: .init(path: path)
        )
    }

    /// Checks the mapping against a file and a schema, to find mistakes before a store exists.
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
        case .dataCorrupted(let context): return "it is not JSON\(place(context))"
        default: return "it is not JSON"
        }
    }
}

/// A constant in a mapping, in JSON: a boolean, a number, a text or null. Dates are texts in ISO 8601, or seconds since 2001-01-01 UTC;
/// UUIDs are texts.
public enum MappedConstant: Sendable, Hashable, Codable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)

    /// Decodes a constant.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .bool(flag)
        } else if let number = try? container.decode(Int64.self) {
            self = .int(number)
        } else if let number = try? container.decode(Double.self) {
            self = .double(number)
        } else {
            self = .string(try container.decode(String.self))
        }
    }

    /// Encodes the constant.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let flag): try container.encode(flag)
        case .int(let number): try container.encode(number)
        case .double(let number): try container.encode(number)
        case .string(let text): try container.encode(text)
        }
    }

    /// Whether it stands for a value of a kind without being converted: dates and texts are texts, and no list is one.
    func isExact(_ kind: AttributeKind) -> Bool {
        let isText = if case .string = self { true } else { false }
        return self == .null || ![.date, .string, .strings].contains(kind) || (isText && kind != .strings)
    }

    /// The value for an attribute; nil if it is not of the attribute's kind.
    package func value(of attribute: AttributeDescription) -> Value? {
        switch self {
        case .null: return attribute.isOptional ? .null : nil
        case .bool(let flag): return fit(.bool(flag), attribute)
        case .int(let number):
            let date = Value.date(Date(timeIntervalSinceReferenceDate: Double(number)))
            return attribute.kind == .date ? date : fit(.int(number), attribute)
        case .double(let number):
            let date = Value.date(Date(timeIntervalSinceReferenceDate: number))
            return attribute.kind == .date ? date : fit(.double(number), attribute)
        case .string(let text):
            guard attribute.kind == .date else { return fit(.string(text), attribute) }
            return (try? Date(text, strategy: .iso8601)).map { .date($0) }
        }
    }

    private func fit(_ value: Value, _ attribute: AttributeDescription) -> Value? {
        let fitted = ValueFit.fit(value, to: attribute)
        return fitted.problem == nil ? fitted.value : nil
    }
}

/// How an import converts a Core Data file: the target entity of each source entity, and the origin of each of its attributes.
struct CoreDataPlan {
    /// The origin of an attribute of the target.
    enum Field: Hashable {
        /// No origin: the attribute is nil or has no links.
        case missing
        /// A constant.
        case constant(Value)
        /// The record's identity, by ``IdentityRule``.
        case identity
        /// The record's key in its table.
        case key
        /// The name of the record's entity.
        case entityName
        /// An attribute of the source.
        case attribute(String)
        /// The texts of a list stored as JSON in an attribute of the source.
        case texts(String)
        /// The target of a to-one relationship of the source.
        case reference(String)
        /// The key of a to-one relationship's target whose entity is not in the file.
        case referenceKey(String)
        /// The record that has this one in a to-many relationship without an inverse, from the column on this side.
        case owner(column: String, root: String)
        /// A number in a column: the position in an ordered relationship.
        case number(column: String)
        /// The targets of a to-many relationship with its own link table.
        case links(String)
        /// The targets of such a relationship in order, as texts.
        case linkOrder(String)
    }

    /// The conversion of one entity's records.
    struct Entity {
        let source: CoreDataEntity
        /// The index of the entity in the target's schema.
        let target: Int
        /// The origins of the target's attributes, in their order.
        let fields: [Field]
    }

    /// The target's entities.
    let schema: Schema
    /// The imported entities, by number.
    let entities: [Entity]
    /// The attribute whose UUIDs are the identities, by root entity; only for entities that have one.
    let identities: [String: String]
    /// The index of the entity that stores the target's position; nil in a schema that was not derived.
    let source: Int?
    /// Things that the import does not convert unchanged.
    let oddities: [CoreDataOddity]

    func entity(number: Int) -> Entity? { entities.first { $0.source.number == number } }
}
