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
        case .literal: break
        case .attribute(let path, let position, _, _): note(path, position, variables, schema)
        case .exists(let path): note(path, nil, variables, schema)
        case .not(let inner), .isIn(let inner, _), .length(let inner), .least(let inner), .greatest(let inner):
            follow(inner, variables, schema)
        case .and(let parts), .or(let parts): for part in parts { follow(part, variables, schema) }
        case .compare(_, let left, let right), .text(_, let left, let right), .coalesce(let left, let right),
            .caseInsensitiveOrder(let left, let right), .arithmetic(_, let left, let right):
            follow(left, variables, schema)
            follow(right, variables, schema)
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
        case .conditional(let test, let first, let second):
            for part in [test, first, second] { follow(part, variables, schema) }
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
