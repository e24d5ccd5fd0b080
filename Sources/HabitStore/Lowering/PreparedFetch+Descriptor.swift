import Foundation

extension PreparedFetch {
    /// - Parameters:
    ///   - evaluatesPredicates: whether every predicate is evaluated, as the in-memory reference does.
    ///   - evaluate: makes a condition of what has to be evaluated on the model.
    init<Model: PersistentModel>(
        _ descriptor: FetchDescriptor<Model>,
        schema: Schema,
        evaluatesPredicates: Bool,
        evaluate: (FilterCondition<Model>) -> Condition
    ) throws {
        let entity = try schema.position(of: Model.self)
        try FetchWindow.require(limit: descriptor.fetchLimit, entity: schema.entities[entity].name)
        if !evaluatesPredicates, let predicate = descriptor.onlyPredicate,
            let found = schema.shapes.shape(of: predicate, schema: schema, entity: entity)
        {
            let query = BoundQuery(
                entity: entity,
                found.shape,
                found.values,
                order: try descriptor.order(in: schema),
                offset: descriptor.fetchOffset,
                limit: descriptor.fetchLimit
            )
            self.init(query, condition: nil) { PredicateLowering.lower(predicate, schema: schema).expression }
            return
        }
        let wanted = descriptor.wanted
        let lowered = LoweredFilter(wanted, schema: schema, evaluatesPredicates: evaluatesPredicates)
        let condition =
            lowered.isWhole ? nil : try FilterCondition(wanted, schema: schema, entity: entity)
        let order = try descriptor.order(in: schema)
        var filter = lowered.expression
        if let cursor = descriptor.cursor {
            let total = BoundQuery(entity: entity, order: order).order
            filter = .all([filter, try cursor.condition(total, entity: schema.entities[entity])])
        }
        let query = BoundQuery(
            entity: entity,
            filter: try filter.bound(to: schema, entity: entity),
            order: order,
            offset: descriptor.fetchOffset,
            limit: descriptor.fetchLimit,
            hasOpaqueCondition: condition != nil,
            opaqueConditionMayFail: condition?.mayFail ?? false
        )
        self.init(query, condition: condition.map(evaluate)) { [filter] in filter }
    }
}

extension FetchDescriptor {
    /// The predicate, where it is the only condition.
    fileprivate var onlyPredicate: Predicate<Model>? {
        guard cursor == nil, case .expression(.literal(.bool(true))) = filter else { return nil }
        return predicate
    }

    /// The predicate and the filter.
    var wanted: Filter<Model> {
        guard let predicate else { return filter }
        if case .expression(.literal(.bool(true))) = filter { return .predicate(predicate) }
        return .predicate(predicate) && filter
    }

    /// The keys of the order; the identifier is not appended yet.
    func order(in schema: Schema) throws -> [BoundQuery.SortKey] {
        try sortBy.map { try Self.sortKey($0, schema: schema) }
    }

    private static func sortKey(_ descriptor: SortDescriptor<Model>, schema: Schema) throws -> BoundQuery.SortKey {
        #if canImport(Darwin)
        if let comparator = descriptor.stringComparator, comparator != .lexical {
            throw HabitStoreError(
                .unsupported,
                "text is ordered by its UTF-8 bytes; use SortDescriptor(…, comparator: .lexical)"
            )
        }
        #endif
        guard let keyPath = descriptor.keyPath, case .attribute(_, let position)? = schema.property(at: keyPath) else {
            let asked = descriptor.keyPath.map { "\($0)" } ?? "a property"
            throw HabitStoreError(
                .unsupported,
                "\(Model.entity.name) cannot be sorted by \(asked): sort by an attribute that is neither computed nor stored "
                    + "as JSON",
                at: .init(entity: Model.entity.name)
            )
        }
        return .init(position: position, ascending: descriptor.order == .forward)
    }
}

extension PageCursor {
    /// The condition that a record comes after this place in an order.
    func condition(_ order: [BoundQuery.SortKey], entity: EntityDescription) throws -> FilterExpression {
        let asked = Self.orderText(entity, order)
        let isOfKinds =
            keys.count == order.count
            && zip(order, keys).allSatisfy { $1.isNull || $1.kind == entity.attributes[$0.position].kind }
        guard isOfKinds, self.order == nil || self.order == asked else {
            throw HabitStoreError(
                .invalidQuery,
                "the page cursor belongs to \(self.order ?? "another order"), and this fetch is of \(asked); start from the first page",
                at: .init(entity: entity.name)
            )
        }
        var alternatives: [FilterExpression] = []
        var equal: [FilterExpression] = []
        for (key, value) in zip(order, keys) {
            let attribute = FilterExpression.attribute(AttributePath(entity.attributes[key.position].name))
            alternatives.append(.all(equal + [Self.behind(value, attribute, ascending: key.ascending)]))
            equal.append(.compare(.equal, attribute, .literal(value)))
        }
        return .any(alternatives)
    }

    private static func behind(
        _ value: Value,
        _ attribute: FilterExpression,
        ascending: Bool
    ) -> FilterExpression {
        switch (value.isNull, ascending) {
        case (true, true): return .compare(.notEqual, attribute, .literal(.null))
        case (true, false): return .never
        case (false, true): return .compare(.greater, attribute, .literal(value))
        case (false, false):
            return .or([
                .compare(.less, attribute, .literal(value)),
                .compare(.equal, attribute, .literal(.null)),
            ])
        }
    }
}
