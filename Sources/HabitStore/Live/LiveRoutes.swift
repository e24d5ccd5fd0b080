/// Which live queries a change concerns, by entity and attribute names. A change that concerns no query costs one lookup.
struct LiveRoutes {
    enum Effect {
        /// The query is asked again.
        case asks
        /// Evaluate the record again; if only values that the elements hold changed, it has to be one that the query holds.
        case judges(needsToBeHeld: Bool)
        /// Evaluate the records of the query's entity that refer to this one by the attribute.
        case judgesReferring(attribute: Int)
    }

    struct Route {
        let query: any LiveQuery
        /// The query's own entity.
        let entity: Int
        let effect: Effect
        /// The attributes whose change concerns it; nil for all.
        let attributes: Set<String>?
    }

    private var byEntity: [String: [Route]] = [:]
    /// The attributes of each entity that concern anybody; nil for all.
    private var attributes: [String: Set<String>?] = [:]

    init(_ queries: [any LiveQuery], _ schema: Schema) {
        for query in queries {
            guard let plan = query.plan else { continue }
            func names(_ positions: Set<Int>, _ entity: Int) -> Set<String> {
                Set(positions.map { schema.entities[entity].attributes[$0].name })
            }
            func add(_ entity: Int, _ effect: Effect, _ attributes: Set<String>?) {
                note(
                    schema.entities[entity].name,
                    Route(query: query, entity: plan.entity, effect: effect, attributes: attributes)
                )
            }
            if plan.readsEverything {
                for entity in schema.entities.indices { add(entity, .asks, nil) }
                continue
            }
            let isAsked = plan.reason != nil
            add(plan.entity, isAsked ? .asks : .judges(needsToBeHeld: false), names(plan.own, plan.entity))
            add(
                plan.entity,
                isAsked ? .asks : .judges(needsToBeHeld: true),
                plan.elements.map { names($0, plan.entity) }
            )
            for (entity, effects) in plan.others {
                for (effect, positions) in effects {
                    let effect: Effect =
                        switch effect {
                        case .judgesReferring(let attribute) where !isAsked: .judgesReferring(attribute: attribute)
                        default: .asks
                        }
                    add(entity, effect, names(positions, entity))
                }
            }
        }
    }

    private mutating func note(_ entity: String, _ route: Route) {
        byEntity[entity, default: []].append(route)
        if let known = attributes[entity] {
            attributes[entity] = .some(known.flatMap { known in route.attributes.map { known.union($0) } })
        } else {
            attributes[entity] = .some(route.attributes)
        }
    }

    /// Whether there is no query at all.
    var isEmpty: Bool { byEntity.isEmpty }

    /// Whether a change concerns any query.
    func leadSomewhere(_ change: HistoryChange) -> Bool {
        guard let attributes = attributes[change.entity] else { return false }
        guard let attributes, case .update(let updated) = change.kind else { return true }
        return updated.contains { attributes.contains($0) }
    }

    /// What changes of these attributes lead to; nil for a record that came or went.
    func of(_ entity: String, _ changed: Set<String>?) -> [Route] {
        guard let routes = byEntity[entity] else { return [] }
        guard let changed else {
            // Of the two that lead to a query's own records one will do.
            return routes.filter { if case .judges(true) = $0.effect { false } else { true } }
        }
        return routes.filter { route in route.attributes.map { !$0.isDisjoint(with: changed) } ?? true }
    }
}
