/// Which changes concern a live query, and what they do to its answer. Derived from the bound fetch, for any engine.
struct LivePlan: Sendable {
    /// The effect of a change to another entity's record.
    enum Effect: Sendable, Hashable {
        /// Evaluates the records that refer to it by this attribute again.
        case judgesReferring(attribute: Int)
        /// The query is asked again.
        case asksAgain
    }

    let entity: Int
    let order: LiveOrder
    let window: FetchWindow
    /// The attributes of its records by which the query filters and sorts.
    private(set) var own: Set<Int>
    /// The attributes that its elements hold; nil for all.
    let elements: Set<Int>?
    /// The attributes that it reads of the records to which it follows relationships, by entity. That such a record comes or
    /// goes counts in any case.
    private(set) var others: [Int: [Effect: Set<Int>]] = [:]
    /// Why the query is repeated after every change that concerns it; nil if its answer is patched.
    private(set) var reason: String?
    /// Whether any change of any entity may matter.
    private(set) var readsEverything = false

    /// - Parameter elements: the attributes that the elements hold; nil for all.
    init(_ query: BoundQuery, elements: Set<Int>?, schema: Schema) {
        entity = query.entity
        order = LiveOrder(query.order)
        window = query.window
        own = LiveMutant.isPlanted(.orderNotRead) ? [] : Set(query.order.map(\.position))
        self.elements = elements
        if query.hasOpaqueCondition {
            reason = "Foundation evaluates the predicate, which may read anything"
            readsEverything = true
        } else if query.mayFail {
            // Of several records that fail, the one of the least identifier is reported.
            reason = "evaluating the condition may fail"
        }
        follow(query.filter, [0: entity], schema)
    }

    /// Asked again from now on, whatever changes.
    mutating func stopPatching(_ reason: String) { self.reason = reason }

    // MARK: The attributes it reads

    /// - Parameter variables: the entity of each variable of the expression.
    private mutating func follow(_ expression: BoundExpression, _ variables: [Int: Int], _ schema: Schema) {
        switch expression {
        case .attribute(let path, let position, _, _): note(path, position, variables, schema)
        case .exists(let path): note(path, nil, variables, schema)
        case .some(let collection, let inner), .every(let collection, let inner), .count(let collection, let inner):
            switch collection.storage {
            case .linked(let attribute):
                note(collection.path, attribute, variables, schema)
                add(.asksAgain, collection.destination, nil)
            case .referring(let attribute), .linking(let attribute):
                note(collection.path, nil, variables, schema)
                add(.asksAgain, collection.destination, attribute)
            }
            follow(inner, variables.merging([collection.variable: collection.destination]) { $1 }, schema)
        default: expression.forEachChild { follow($0, variables, schema) }
        }
    }

    /// - Parameter position: the attribute at the path's end; nil where only the record there counts.
    private mutating func note(_ path: BoundPath, _ position: Int?, _ variables: [Int: Int], _ schema: Schema) {
        guard path.variable == 0 else {
            var place = variables[path.variable] ?? entity
            for hop in path.hops {
                add(.asksAgain, place, hop.attribute)
                place = hop.destination
            }
            return add(.asksAgain, place, position)
        }
        guard let first = path.hops.first else {
            if let position { own.insert(position) }
            return
        }
        own.insert(first.attribute)
        let isIndexed = schema.entities[entity].indexes.contains {
            $0.attributes.first == schema.entities[entity].attributes[first.attribute].name
        }
        guard path.hops.count == 1, isIndexed else {
            for (number, hop) in path.hops.enumerated() {
                add(
                    .asksAgain,
                    hop.destination,
                    number + 1 < path.hops.count ? path.hops[number + 1].attribute : position
                )
            }
            return
        }
        add(.judgesReferring(attribute: first.attribute), first.destination, position)
    }

    private mutating func add(_ effect: Effect, _ entity: Int, _ attribute: Int?) {
        if LiveMutant.isPlanted(.otherEntityNotRead) { return }
        others[entity, default: [:]][effect, default: []].formUnion(attribute.map { [$0] } ?? [])
    }
}

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

/// How a live query follows the store: which changes concern it, and what they cost.
public struct LiveExplanation: Sendable, Hashable, Codable, CustomStringConvertible {
    /// Why the query is asked again after each change that concerns it; nil where its answer is patched, with one read of each
    /// record that has changed.
    public let askedAgainBecause: String?
    /// The attributes of its records by which it filters and sorts, by name. A change of other attributes concerns it only if the record is
    /// in the answer and the answer holds them.
    public let attributes: [String]
    /// The entities to which it follows relationships, and for each the attributes whose changes concern it, with the effect: `judged` for the
    /// records that refer to the changed one, `asked again` for the whole query.
    public let relationships: [String: [String: [String]]]

    init(_ plan: LivePlan, _ schema: Schema) {
        askedAgainBecause = plan.reason
        func names(_ positions: Set<Int>, _ entity: Int) -> [String] {
            positions.sorted().map { schema.entities[entity].attributes[$0].name }
        }
        attributes = names(plan.own, plan.entity)
        relationships = Dictionary(
            uniqueKeysWithValues: plan.others.map { entity, effects in
                let told = effects.map { (effect, positions) -> (String, [String]) in
                    switch effect {
                    case .judgesReferring where plan.reason == nil: ("judged", names(positions, entity))
                    default: ("asked again", names(positions, entity))
                    }
                }
                return (schema.entities[entity].name, Dictionary(told) { $0 + $1 })
            }
        )
    }

    /// One line for people.
    public var description: String {
        var text = askedAgainBecause.map { "asked again: \($0)" } ?? "patched"
        text += "; watches \(attributes.joined(separator: ", "))"
        for (entity, effects) in relationships.sorted(by: { $0.key < $1.key }) {
            for (effect, names) in effects.sorted(by: { $0.key < $1.key }) {
                let what = names.isEmpty ? "what comes and goes" : names.joined(separator: ", ")
                text += "; of \(entity): \(what) (\(effect))"
            }
        }
        return text
    }
}

/// Bugs that live queries could well have, for tests of what is to find them. Only debug builds know them.
package enum LiveMutant: String, CaseIterable, Sendable {
    case lostDeletion = "a record that was deleted stays"
    case lostDeparture = "a record that does not fulfil the condition any more stays"
    case lostArrival = "a record that now fulfils the condition is not inserted"
    case staleContents = "a record that stays where it is keeps its old contents"
    case putLast = "a record is put at the end, wherever it belongs"
    case lostDirection = "the first key of the order is always ascending"
    case orderNotRead = "a change of an attribute that the order reads is ignored"
    case otherEntityNotRead = "a change of a record that a relationship leads to is ignored"
    case neverShort = "a window whose reserve is used up is not filled"
    case alwaysComplete = "records after the window that are not kept count as missing"
    case lostOffset = "the window begins at the first record"
    case firstChangeCounts = "of several changes of a record only the first one counts"
    case lostRestart = "a pruned history is taken for an empty one"
    case movesAreUpdates = "a record that stands elsewhere is said to have other contents"
    case touchedOnce = "a record that was touched before is not reported again"
    case removalsInLater = "removals are counted in the later answer"

    #if PLANNER_MUTANTS
    /// The bug that is planted in what runs below.
    @TaskLocal package static var planted: LiveMutant?

    @inline(__always)
    static func isPlanted(_ mutant: LiveMutant) -> Bool { planted == mutant }
    #else
    @inline(__always)
    static func isPlanted(_ mutant: LiveMutant) -> Bool { false }
    #endif
}
