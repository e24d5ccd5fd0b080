/// The entities of a Core Data file.
public struct CoreDataModel: Sendable, Hashable, Encodable {
    /// Where a model was read.
    public enum Origin: String, Sendable, Hashable, Codable {
        /// In the model that Core Data keeps in the file (`Z_MODELCACHE`).
        case modelCache
        /// In the names and types of tables and columns, with guesses.
        case tables
    }

    /// Where it was read.
    public let origin: Origin
    /// The entities, by their numbers.
    public internal(set) var entities: [CoreDataEntity]

    /// The entity of a name.
    public func entity(_ name: String) -> CoreDataEntity? { entities.first { $0.name == name } }

    /// The entity of a number.
    public func entity(number: Int) -> CoreDataEntity? { entities.first { $0.number == number } }

    /// An entity and those that inherit from it.
    public func family(of name: String) -> [CoreDataEntity] {
        let children = Dictionary(grouping: entities.filter { $0.superentity != nil }) { $0.superentity }
        var names: Set<String> = [name]
        var rest = [name]
        // A damaged file may have an entity inherit from itself.
        while let parent = rest.popLast() {
            for child in children[parent] ?? [] where names.insert(child.name).inserted { rest.append(child.name) }
        }
        return entities.filter { names.contains($0.name) }
    }
}
