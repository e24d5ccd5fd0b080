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
