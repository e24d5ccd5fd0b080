import Foundation

/// The model that Core Data stores in its file: a compressed keyed archive of the app's `NSManagedObjectModel`.
struct ArchivedModel {
    struct Entity {
        let name: String
        /// The entity's name in the previous version.
        let formerName: String?
        let superentity: String?
        let isAbstract: Bool
        let className: String?
        let properties: [Property]
        let uniqueness: [[String]]
    }

    enum Property {
        case attribute(ArchivedAttribute)
        case relationship(ArchivedRelationship)
        /// Transient attributes, fetched properties and properties of unknown kinds.
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

    /// Nil if the bytes are not an archived model.
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

struct ArchivedAttribute {
    let name: String
    let type: Int
    let isOptional: Bool
    let isDerived: Bool
    let allowsExternalStorage: Bool
    let defaultValue: String?
    let valueClass: String?
    let transformer: String?
    let elements: [ArchivedAttribute]
}

struct ArchivedRelationship {
    let name: String
    let destination: String
    let inverse: String?
    let isToMany: Bool
    let isOrdered: Bool
    let isOptional: Bool
    let deleteRule: Int
}
