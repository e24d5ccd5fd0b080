import CSystemCalls
import Foundation

/// Proves that a model's code matches its declaration: reads records with known values through the model, and compares the values
/// of its key paths and those that it writes with them, attribute by attribute.
///
/// If the code exchanges two attributes in both directions, a round in which their values differ reveals it; it is first proven
/// that there is such a round for every two of them.
enum SchemaProof {
    static func run(_ entities: [EntityDescription]) throws(HabitStoreError) {
        for entity in entities {
            guard let first = entity.attributes.first, first.name == "id", first.kind == .uuid, !first.isOptional else {
                throw entity.contradiction(
                    "the first attribute of \(entity.name) must be .id(\\.id)"
                )
            }
            for attribute in entity.attributes where attribute.hasInvalidDefault {
                throw entity.contradiction(
                    "the default of \(entity.name).\(attribute.name) is not a value that a store can keep",
                    at: attribute.name
                )
            }
            for attribute in entity.attributes
            where !entity.isUntyped && !attribute.isOptional && attribute.probe(0).isNull {
                throw entity.contradiction(
                    "no sample can be made up for \(entity.name).\(attribute.name); give it a default, or let its type be "
                        + "JSONAttributeProbing",
                    at: attribute.name
                )
            }
            // Without a Swift type there is no code that could differ from the declaration.
            if entity.isUntyped { continue }
            try ModelCode.withMadeUpValues(entity.name) { () throws(HabitStoreError) in
                let rounds = try rounds(of: entity)
                for values in rounds { try prove(entity.modelType, entity, values) }
            }
        }
    }

    // MARK: The values

    /// The records that the model is proven with, all of which together tell every two attributes apart.
    private static func rounds(of entity: EntityDescription) throws(HabitStoreError) -> [[Value]] {
        let attributes = entity.attributes
        let samples = try samples(of: entity) { $0 }
        func nulls(_ isNull: (Int) -> Bool) -> [Value] {
            attributes.indices.map { attributes[$0].isOptional && isNull($0) ? .null : samples[$0] }
        }
        var rounds = [samples, nulls { _ in true }]
        // A truth value or an enum has few samples; two positions differ in some bit, so some round tells them apart.
        for bit in 0..<(Int.bitWidth - attributes.count.leadingZeroBitCount) {
            rounds.append(try self.samples(of: entity) { ($0 >> bit) & 1 })
            if attributes.contains(where: \.isOptional) { rounds.append(nulls { ($0 >> bit) & 1 == 1 }) }
        }
        try requireDifferent(rounds, of: entity)
        return rounds
    }

    private static func samples(
        of entity: EntityDescription,
        _ place: (Int) -> Int
    ) throws(HabitStoreError) -> [Value] {
        var samples: [Value] = []
        for (position, attribute) in entity.attributes.enumerated() {
            let sample = attribute.probe(place(position))
            guard sample.kind == attribute.kind || (sample.isNull && attribute.isOptional) else {
                throw entity.contradiction(
                    "probe(position:) of the type of \(entity.name).\(attribute.name) gives \(sample.kind?.rawValue ?? "nil"), and "
                        + "values of the type are kept as \(attribute.kind.rawValue); give one of these",
                    at: attribute.name
                )
            }
            do {
                samples.append(try sample.normalized())
            } catch {
                throw HabitStoreError(
                    .schemaMismatch,
                    "probe(position:) of the type of \(entity.name).\(attribute.name) gives what no store can keep: \(error)",
                    at: .init(entity: entity.name, attribute: attribute.name),
                    underlying: error
                )
            }
        }
        return samples
    }

    /// Refuses two attributes that have the same value in every round, since code that exchanges them could not be detected.
    private static func requireDifferent(_ rounds: [[Value]], of entity: EntityDescription) throws(HabitStoreError) {
        var seen: [[Value]: Int] = [:]
        for (position, attribute) in entity.attributes.enumerated() {
            guard let other = seen.updateValue(position, forKey: rounds.map { $0[position] }) else { continue }
            // A type with one value is the same wherever it is stored.
            if attribute.hasOneSample, entity.attributes[other].hasOneSample { continue }
            throw entity.contradiction(
                "probe(position:) gives the same for \(entity.name).\(entity.attributes[other].name) and "
                    + "\(entity.name).\(attribute.name), so a model that exchanges them would go unnoticed; let it give "
                    + "another value for each position, or declare hasOneValue if the type has only one",
                at: attribute.name
            )
        }
    }

    // MARK: The code

    private static func prove<M: PersistentModel>(
        _ type: M.Type,
        _ entity: EntityDescription,
        _ values: [Value]
    ) throws(HabitStoreError) {
        do {
            let record = try EncodedRecord(values, layout: entity.layout)
            let model = try record.withView(entity.layout) { view in
                var reader = view.reader
                return try M(row: &reader)
            }
            for (position, attribute) in entity.attributes.enumerated()
            where try attribute.extract(model) != values[position] {
                throw HabitStoreError(
                    .schemaMismatch,
                    "init(row:) does not read \(attribute.name) at its declared position",
                    at: .init(attribute: attribute.name)
                )
            }
            guard Value.uuid(model.id) == values[0] else {
                throw HabitStoreError(
                    .schemaMismatch,
                    "its identifier is declared by another property than id; declare .id(\\.id)",
                    at: .init(attribute: "id")
                )
            }
            var writer = AttributeWriter(layout: entity.layout)
            try model.write(to: &writer)
            guard try writer.finish({ EncodedRecord(copying: $0) }) == record else {
                throw HabitStoreError(.schemaMismatch, "write(to:) does not follow it")
            }
        } catch {
            throw HabitStoreError(
                .schemaMismatch,
                "the model \(entity.name) does not follow its declaration: \(error)",
                at: .init(entity: entity.name, attribute: (error as? HabitStoreError)?.location.attribute),
                underlying: error
            )
        }
    }
}

extension AttributeDescription {
    /// Whether nothing tells it from another attribute of its type: there is one value, or only the default, which stands in for
    /// samples that cannot be made of JSON.
    fileprivate var hasOneSample: Bool {
        hasOneValue || isOpaque && probe(0) == probe(1) && probe(0) == defaultValue
    }
}

/// Running a model's code with values that no app has given it.
enum ModelCode {
    /// Runs `body`, which reads or writes a model of made-up values. Where the model's code ends the process, as a precondition in
    /// its initializer does, a line on standard error says whose values those were and what to do; the process dies all the same.
    static func withMadeUpValues<R, E: Error>(_ model: String, _ body: () throws(E) -> R) throws(E) -> R {
        let words = """
            HabitStore: the process ended in the code of the model \(model), which was being proven with made-up values. Its \
            init(row:) has to take every value of its attributes' types, since a store may hold any: assign the properties in \
            init(row:), and check values in the initializer that the app calls.

            """
        let result = words.withCString { text -> Result<R, E> in
            let outer = habitstore_begin_dying_words(text)
            defer { habitstore_end_dying_words(outer) }
            do throws(E) {
                return .success(try body())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

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
