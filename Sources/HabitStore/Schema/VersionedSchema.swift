import Synchronization

/// One version of an app's schema, with its models in that version.
///
/// ```swift
/// enum NotesV1: VersionedSchema {
///     static let versionIdentifier = Schema.Version(1, 0, 0)
///     static let models: [any PersistentModel.Type] = [Note.self]
///     // Beside it, or in an extension: `struct Note: PersistentModel`, as it was in this version.
/// }
/// ```
/// The models of different versions may have the same name; a store identifies them by their entity's name.
public protocol VersionedSchema: SendableMetatype {
    /// The version; a store writes it down.
    static var versionIdentifier: Schema.Version { get }

    /// The models of this version.
    static var models: [any PersistentModel.Type] { get }
}

extension VersionedSchema {
    /// The schema of this version, which is made once.
    public static var schema: Schema {
        SchemaCache.current.schema(of: self) { Schema(models, version: versionIdentifier) }
    }

    /// The schema of this version as one that stores are taken on from; see ``Schema/init(earlier:version:)``.
    package static var earlierSchema: Schema {
        SchemaCache.earlier.schema(of: self) { Schema(earlier: models, version: versionIdentifier) }
    }
}

/// The schemas that were made, each once.
private final class SchemaCache: Sendable {
    static let current = SchemaCache()
    static let earlier = SchemaCache()

    private let made = Mutex<[ObjectIdentifier: Schema]>([:])

    func schema(of version: any VersionedSchema.Type, _ make: () -> Schema) -> Schema {
        made.withLock { made in
            if let schema = made[ObjectIdentifier(version)] { return schema }
            let schema = make()
            made[ObjectIdentifier(version)] = schema
            return schema
        }
    }
}

extension Schema {
    /// The version of a schema: major, minor, patch. `Schema.Version(3, 0, 0)` reads and is written as `3.0.0`.
    public struct Version: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
        /// The first number.
        public let major: Int
        /// The second number.
        public let minor: Int
        /// The third number.
        public let patch: Int

        /// Makes a version.
        public init(_ major: Int, _ minor: Int, _ patch: Int) {
            (self.major, self.minor, self.patch) = (major, minor, patch)
        }

        /// Reads `3.0.0`; missing parts count as 0. Nil for anything else.
        public init?(parsing text: String) {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            let numbers = parts.compactMap { part in part.allSatisfy(\.isWholeNumber) ? Int(part) : nil }
            guard (1...3).contains(parts.count), numbers.count == parts.count else { return nil }
            self.init(numbers[0], numbers.count > 1 ? numbers[1] : 0, numbers.count > 2 ? numbers[2] : 0)
        }

        /// `3.0.0`.
        public var description: String { "\(major).\(minor).\(patch)" }

        /// Earlier versions first.
        public static func < (left: Self, right: Self) -> Bool {
            (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
        }

        /// Reads the text.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            guard let version = Self(parsing: try container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "a version is like 3.0.0")
            }
            self = version
        }

        /// Writes the text.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(description)
        }
    }
}

/// One thing in which the shape of a store's records differs from the one that is declared.
public struct SchemaDifference: Sendable, Hashable, CustomStringConvertible {
    /// The entity's name.
    public let entity: String
    /// The attribute's or relationship's name; nil where the whole entity differs.
    public let attribute: String?
    /// One sentence that says what there is and what is declared.
    public let description: String

    /// Makes a difference.
    public init(entity: String, attribute: String?, description: String) {
        (self.entity, self.attribute, self.description) = (entity, attribute, description)
    }
}

extension StoredSchema {
    /// How the shape of this store's records differs from the declared one. Indexes, defaults and preservation on deletion are not part of a
    /// record's shape.
    public func differences(from declared: StoredSchema) -> [SchemaDifference] {
        var differences: [SchemaDifference] = []
        for entity in declared.entities {
            guard let stored = entities.first(where: { $0.name == entity.name }) else {
                differences.append(entity.difference(nil, "the store has no entity \(entity.name)"))
                continue
            }
            differences += stored.attributeDifferences(from: entity) + stored.relationshipDifferences(from: entity)
            differences += stored.uniquenessDifferences(from: entity)
        }
        for entity in entities where !declared.entities.contains(where: { $0.name == entity.name }) {
            differences.append(
                entity.difference(nil, "the store has an entity \(entity.name), which is not declared")
            )
        }
        return differences
    }
}

extension EntityShape {
    fileprivate func difference(_ attribute: String?, _ text: String) -> SchemaDifference {
        SchemaDifference(entity: name, attribute: attribute, description: text)
    }

    fileprivate func attributeDifferences(from declared: EntityShape) -> [SchemaDifference] {
        var differences: [SchemaDifference] = []
        func differ(_ attribute: String, _ text: String) { differences.append(difference(attribute, text)) }
        for attribute in declared.attributes {
            let title = "\(name).\(attribute.name)"
            guard let stored = attributes.first(where: { $0.name == attribute.name }) else {
                differ(attribute.name, "the store has no attribute \(title)")
                continue
            }
            if stored.kind != attribute.kind {
                differ(
                    attribute.name,
                    "\(title) is of kind \(stored.kind) in the store and declared as \(attribute.kind)"
                )
            }
            if stored.isOptional != attribute.isOptional {
                let (there, here) = stored.isOptional ? ("may", "may not") : ("may not", "may")
                differ(attribute.name, "\(title) \(there) be nil in the store and \(here) as declared")
            }
            if stored.isUnique != attribute.isUnique {
                let (there, here) = stored.isUnique ? ("is", "is not") : ("is not", "is")
                differ(attribute.name, "\(title) \(there) unique in the store and \(here) as declared")
            }
        }
        for stored in attributes where !declared.attributes.contains(where: { $0.name == stored.name }) {
            differ(stored.name, "the store has an attribute \(name).\(stored.name), which is not declared")
        }
        if differences.isEmpty,
            let (stored, _) = zip(attributes, declared.attributes).first(where: { $0.name != $1.name })
        {
            differ(stored.name, "the attributes of \(name) are in another order in the store, from \(stored.name) on")
        }
        return differences
    }

    fileprivate func uniquenessDifferences(from declared: EntityShape) -> [SchemaDifference] {
        func difference(_ combination: [String], _ text: String) -> SchemaDifference {
            self.difference(combination.first, "\(name).(\(combination.joined(separator: ", "))) \(text)")
        }
        return declared.uniqueness.filter { !uniqueness.contains($0) }
            .map { difference($0, "is not unique in the store and is as declared") }
            + uniqueness.filter { !declared.uniqueness.contains($0) }
            .map { difference($0, "is unique in the store and is not as declared") }
    }

    fileprivate func relationshipDifferences(from declared: EntityShape) -> [SchemaDifference] {
        var differences: [SchemaDifference] = []
        func differ(_ relationship: String, _ text: String) { differences.append(difference(relationship, text)) }
        for relationship in declared.relationships {
            let title = "\(name).\(relationship.name)"
            guard let stored = relationships.first(where: { $0.name == relationship.name }) else {
                differ(relationship.name, "the store has no relationship \(title)")
                continue
            }
            for (what, there, here) in [
                ("kind", stored.kindText, relationship.kindText),
                ("destination", stored.destination, relationship.destination),
                ("inverse", stored.inverse ?? "none", relationship.inverse ?? "none"),
                ("delete rule", stored.deleteRule.rawValue, relationship.deleteRule.rawValue),
            ] where there != here {
                differ(relationship.name, "the \(what) of \(title) is \(there) in the store and \(here) as declared")
            }
        }
        for stored in relationships where !declared.relationships.contains(where: { $0.name == stored.name }) {
            differ(stored.name, "the store has a relationship \(name).\(stored.name), which is not declared")
        }
        return differences
    }
}

extension RelationshipShape {
    fileprivate var kindText: String { attribute.map { "\(kind.rawValue) through \($0)" } ?? kind.rawValue }
}

extension HabitStoreError {
    /// The most differences that one message names.
    private static let namedDifferences = 5

    /// The error for a store whose records have another shape than declared.
    ///
    /// - Parameter remedy: what helps, where that is known.
    package static func schemaMismatch(
        _ differences: [SchemaDifference],
        path: String?,
        remedy: String? = nil
    ) -> HabitStoreError {
        var message = differences.prefix(namedDifferences).map(\.description).joined(separator: "; ")
        if differences.count > namedDifferences {
            message += "; and \(differences.count - namedDifferences) more differences"
        }
        if let remedy { message += "; \(remedy)" }
        return HabitStoreError(
            .schemaMismatch,
            message,
            at: .init(path: path, entity: differences.first?.entity, attribute: differences.first?.attribute)
        )
    }
}
