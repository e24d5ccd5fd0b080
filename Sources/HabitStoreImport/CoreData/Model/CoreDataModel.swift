/// The entities of a Core Data file.
public struct CoreDataModel: Sendable, Hashable, Encodable {
    /// The source of a model.
    public enum Origin: String, Sendable, Hashable, Codable {
        /// The model that Core Data stores in the file (`Z_MODELCACHE`).
        case modelCache
        /// The names and types of tables and columns, with guesses.
        case tables
    }

    /// The source of the model.
    public let origin: Origin
    /// The entities, by number.
    public internal(set) var entities: [CoreDataEntity]

    /// The entity with a name.
    public func entity(_ name: String) -> CoreDataEntity? { entities.first { $0.name == name } }

    /// The entity with a number.
    public func entity(number: Int) -> CoreDataEntity? { entities.first { $0.number == number } }

    /// An entity and those that inherit from it.
    public func family(of name: String) -> [CoreDataEntity] {
        let children = Dictionary(grouping: entities.filter { $0.superentity != nil }) { $0.superentity }
        var names: Set<String> = [name]
        var rest = [name]
        // In a damaged file, an entity may inherit from itself.
        while let parent = rest.popLast() {
            for child in children[parent] ?? [] where names.insert(child.name).inserted { rest.append(child.name) }
        }
        return entities.filter { names.contains($0.name) }
    }
}
