extension [EntityDescription] {
    /// The entities with the names of what their relationships declare by key paths: where they lead, and their inverses.
    ///
    /// What cannot be found keeps a name that nothing in a schema has, so that the schema is refused.
    func resolvingKeyPaths() -> [EntityDescription] {
        guard contains(where: { $0.relationships.contains { $0.typed != nil } }) else { return self }
        var entities = self
        for (entity, place) in typedRelationships() {
            let name = destination(of: entities[entity].relationships[place])
            entities[entity].relationships[place].destination = name
        }
        for (entity, place) in typedRelationships() {
            let relationship = entities[entity].relationships[place]
            guard let inverse = relationship.typed?.inverse else { continue }
            let there = entities.first { $0.name == relationship.destination }?.relationships
            entities[entity].relationships[place].inverse =
                there?.first { $0.keyPath as AnyKeyPath == inverse as AnyKeyPath }?.name ?? "\(inverse)"
        }
        for (entity, place) in typedRelationships() where entities[entity].relationships[place].inverse == nil {
            let inverse = entities.inverse(of: entities[entity].relationships[place], in: entities[entity].name)
            entities[entity].relationships[place].inverse = inverse
        }
        return entities
    }

    /// The positions of what is declared by key paths.
    private func typedRelationships() -> [(entity: Int, place: Int)] {
        indices.flatMap { entity in
            self[entity].relationships.indices
                .filter { self[entity].relationships[$0].typed != nil }
                .map { (entity, $0) }
        }
    }

    /// By its type: the entity may have another name, and a type of the same name may belong to another version.
    private func destination(of relationship: RelationshipDescription) -> String {
        guard let type = relationship.typed?.destination else { return relationship.destination }
        return first { $0.modelType == type }?.name ?? String(reflecting: type)
    }

    /// The relationship on the other side that names this one; nil where none does.
    private func inverse(of relationship: RelationshipDescription, in entity: String) -> String? {
        first { $0.name == relationship.destination }?.relationships
            .first { $0.destination == entity && $0.inverse == relationship.name }?.name
    }
}
