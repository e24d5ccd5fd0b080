import Foundation

extension Schema {
    /// A record with invented values that could be stored next to any others: it refers to none, and is nil where that is allowed. Of the first
    /// entity that can have such a record; nil if none can, or none has a Swift type in this program.
    ///
    /// - Parameter number: another number gives other values, if the type has many.
    package func sampleModel(number: Int) throws -> (any PersistentModel)? {
        for (position, entity) in entities.enumerated() where !entity.isUntyped {
            guard let values = sampleValues(of: entity, at: position, number) else { continue }
            return try ModelCode.withMadeUpValues(entity.name) {
                try Self.model(entity.modelType, values, entity.layout)
            }
        }
        return nil
    }

    private func sampleValues(of entity: EntityDescription, at position: Int, _ number: Int) -> [Value]? {
        let references = Set(storedReferences[position].map { relationships[position][$0.relationship].attribute })
        var values: [Value] = [.uuid(UUID())]
        for (index, attribute) in entity.attributes.enumerated().dropFirst() {
            if attribute.kind == .links {
                values.append(.links([]))
            } else if attribute.isOptional {
                values.append(.null)
            } else if references.contains(index) {
                return nil
            } else {
                values.append(attribute.probe(number))
            }
        }
        return values
    }

    private static func model<M: PersistentModel>(_ type: M.Type, _ values: [Value], _ layout: RecordLayout) throws -> M
    {
        try EncodedRecord(values, layout: layout).withView(layout) { view in
            var reader = view.reader
            return try M(row: &reader)
        }
    }
}
