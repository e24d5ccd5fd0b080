import FeatureFlags

extension FlagFileText {
    /// A variant and its weight in a percentage.
    public struct Share: Sendable, Equatable {
        /// The variant.
        public let variant: String
        /// Its weight.
        public let weight: Int

        /// Creates a share.
        public init(variant: String, weight: Int) {
            self.variant = variant
            self.weight = weight
        }
    }

    /// Sets the weights of the flag's only `fractional`, or adds one to a flag without a rule.
    ///
    /// Existing entries keep their order, and what precedes them, such as a list of users, stays. Every existing entry needs a weight; new variants
    /// are appended.
    ///
    /// - Throws: A ``FlagError`` for an unknown flag or variant, for weights with a sum of 0, for a rule with no `fractional` or several, for one
    ///   that buckets by a value that all users share, and for a file that cannot be edited in place.
    public func settingPercentages(_ shares: [Share], of key: String) throws(FlagError) -> FlagFileText {
        let flag = try flag(key)
        for share in shares {
            try requireVariant(share.variant, flag)
            guard (0...0x7FFF_FFFF).contains(share.weight) else {
                throw refusal("a weight must be a whole number from 0 to \(0x7FFF_FFFF)", flag.keyRange)
            }
        }
        guard Set(shares.map(\.variant)).count == shares.count else {
            throw refusal("a variant is given two weights", flag.keyRange)
        }
        let total = shares.reduce(0) { $0 + $1.weight }
        guard (1...0x7FFF_FFFF).contains(total) else {
            throw refusal("the weights must add up to more than 0 and to \(0x7FFF_FFFF) at the most", flag.keyRange)
        }
        guard let rule = rule(of: flag) else {
            guard shares.count > 1 else {
                throw refusal("one variant would get everybody; name a weight for a second one too", flag.keyRange)
            }
            let entries = shares.map { Self.entry($0) }.joined(separator: ", ")
            return try applying([set("targeting", "{ \"fractional\": [\(entries)] }", of: flag)])
        }
        var places: [[FlagDocument.Step]] = []
        Self.findFractionals(rule, flag.path + [.member("targeting")], &places)
        guard places.count == 1, let place = places.first else {
            throw refusal(
                places.isEmpty
                    ? "the rule of \(quoted(key)) has no \"fractional\"; edit it by hand, or take the rule away first"
                    : "the rule of \(quoted(key)) has \(places.count) of \"fractional\"; edit it by hand",
                rule.range
            )
        }
        return try applying(try edits(of: place, shares))
    }

    private static func entry(_ share: Share) -> String { "[\(JSONText.string(share.variant)), \(share.weight)]" }

    private static func findFractionals(
        _ node: JSONNode,
        _ path: [FlagDocument.Step],
        _ places: inout [[FlagDocument.Step]]
    ) {
        switch node.value {
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                findFractionals(element, path + [.element(index)], &places)
            }
        case .object(let members):
            for member in members {
                if member.key == "fractional", members.count == 1 { places.append(path + [.member(member.key)]) }
                findFractionals(member.value, path + [.member(member.key)], &places)
            }
        case .null, .bool, .int, .double, .string:
            return
        }
    }

    private func edits(of place: [FlagDocument.Step], _ shares: [Share]) throws(FlagError) -> [FlagFileEdit] {
        guard let node = document.node(at: place), case .array(let elements) = node.value else {
            throw refusal("the entries of \"fractional\" must stand in the rule itself", document.root.range)
        }
        if let first = elements.first {
            let bucket = ConstantBucket(
                source: document.source,
                configuration: FlagConfiguration(),
                evaluators: document.evaluators
            )
            if let message = bucket.message(about: first) { throw refusal(message, first.range) }
        }
        var edits: [FlagFileEdit] = []
        var named: Set<String> = []
        for (index, element) in elements.enumerated() {
            guard case .array(let parts) = element.value else {
                guard index == 0 else {
                    throw refusal("an entry of \"fractional\" is not a list; edit it by hand", element.range)
                }
                continue
            }
            guard case .string(let variant)? = parts.first?.value, named.insert(variant).inserted else {
                throw refusal("an entry of \"fractional\" is computed or occurs twice; edit it by hand", element.range)
            }
            guard let share = shares.first(where: { $0.variant == variant }) else {
                throw refusal("name a weight for \(quoted(variant)) too; the rule has it", element.range)
            }
            if parts.count == 1 {
                edits.append(FlagFileEdit(place + [.element(index)], .replace(Self.entry(share))))
            } else if parts[1].flagValue != .int(Int64(share.weight)) {
                edits.append(FlagFileEdit(place + [.element(index), .element(1)], .replace(String(share.weight))))
            }
        }
        let new = shares.filter { !named.contains($0.variant) }
        guard !new.isEmpty else { return edits }
        // Rewrites the list: existing entries with their new weights, followed by new ones.
        var list = JSONListText(document: document, node: node)
        for (index, element) in elements.enumerated() {
            guard case .array(let parts) = element.value, case .string(let variant)? = parts.first?.value,
                let share = shares.first(where: { $0.variant == variant })
            else { continue }
            list.elements[index] = Self.entry(share)
        }
        list.elements += new.map { Self.entry($0) }
        return [FlagFileEdit(place, .replace(list.text))]
    }
}
