import Foundation

/// The model that Core Data keeps in its file: a keyed archive of the app's `NSManagedObjectModel`, compressed.
struct ArchivedModel {
    /// An entity as it was archived.
    struct Entity {
        let name: String
        /// What the entity was called in the version before.
        let formerName: String?
        let superentity: String?
        let isAbstract: Bool
        let className: String?
        let properties: [Property]
        let uniqueness: [[String]]
    }

    /// A property as it was archived.
    enum Property {
        case attribute(ArchivedAttribute)
        case relationship(ArchivedRelationship)
        /// Transient attributes, fetched properties, and what is of a kind that is not known.
        case notStored(String)

        var name: String {
            switch self {
            case .attribute(let attribute): return attribute.name
            case .relationship(let relationship): return relationship.name
            case .notStored(let name): return name
            }
        }
    }

    let entities: [Entity]

    private static let maximumSize = 64 << 20
    private static let maximumNesting = 8
    private let archive: KeyedArchive

    /// Nil for bytes that are no archived model.
    init?(_ cache: Data) {
        guard let archive = Self.archive(in: cache) else { return nil }
        self.archive = archive
        let root = archive.fields(archive.root)
        let reader = ArchivedModelReader(archive: archive, maximumNesting: Self.maximumNesting)
        entities = archive.elements(root["NSEntities"]?.reference).compactMap(reader.entity)
        guard !entities.isEmpty else { return nil }
    }

    private static func archive(in cache: Data) -> KeyedArchive? {
        if let plain = KeyedArchive(cache) { return plain }
        for wrapping in Inflation.Wrapping.allCases {
            if let bytes = Inflation.inflate(cache, wrapping, limit: maximumSize), let archive = KeyedArchive(bytes) {
                return archive
            }
        }
        return nil
    }
}

/// An attribute as it was archived.
struct ArchivedAttribute {
    let name: String
    let type: Int
    let isOptional: Bool
    let isDerived: Bool
    let allowsExternalStorage: Bool
    let defaultValue: String?
    let valueClass: String?
    let transformer: String?
    /// The elements of a composite.
    let elements: [ArchivedAttribute]
}

/// A relationship as it was archived.
struct ArchivedRelationship {
    let name: String
    let destination: String
    let inverse: String?
    let isToMany: Bool
    let isOrdered: Bool
    let isOptional: Bool
    let deleteRule: Int
}
