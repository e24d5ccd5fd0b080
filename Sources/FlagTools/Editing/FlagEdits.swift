import FeatureFlags
import JSONText

/// The rules that killing writes and rearming removes.
///
/// - `{"if": [{"in": [{"var": "targetingKey"}, ["ada", …]]}, "killed", rest]}` kills the users in the list;
/// - `{"if": [true, "killed", rest]}` kills all users if the flag had its own rule, which `rest` preserves.
private struct KillRule {
    enum Condition {
        case everybody
        /// The list in the file and its strings.
        case users(JSONNode, [String])
    }

    let condition: Condition
    /// The rule for all other users; nil for none.
    let rest: JSONNode?

    init?(_ node: JSONNode, killed: String) {
        guard case .object(let members) = node.value, members.count == 1, let member = members.first,
            member.key == "if",
            case .array(let arguments) = member.value.value, (2...3).contains(arguments.count),
            case .string(killed) = arguments[1].value
        else { return nil }
        let last = arguments.count == 3 ? arguments[2] : nil
        if case .null? = last?.value { rest = nil } else { rest = last }
        if case .bool(true) = arguments[0].value {
            condition = .everybody
            return
        }
        guard case .array(let operands)? = arguments[0].member("in")?.value.value, operands.count == 2,
            operands[0].flagValue == ["var": "targetingKey"], case .array(let elements) = operands[1].value
        else { return nil }
        var users: [String] = []
        for element in elements {
            guard case .string(let user) = element.value else { return nil }
            users.append(user)
        }
        condition = .users(operands[1], users)
    }
}

extension FlagFileText {
    /// Pulls a kill flag for all users, or for some.
    ///
    /// The flag is enabled, and its default becomes the variant that is `true`. If the flag has its own rule, a condition that is always true
    /// precedes it until ``rearming(_:users:)`` removes that. For some users, a list precedes the rule.
    ///
    /// - Parameter users: The targeting keys; nil for all users.
    /// - Throws: A ``FlagError`` if the flag does not exist, does not have the form of a kill flag, or would not kill.
    public func killing(_ key: String, users: [String]? = nil) throws(FlagError) -> FlagFileText {
        let flag = try flag(key)
        let variants = try killVariants(flag)
        var edits: [FlagFileEdit] = []
        if flag.node.member("state")?.value.flagValue != "ENABLED" {
            edits.append(set("state", JSON.quoted(State.enabled.rawValue), of: flag))
        }
        if let users {
            edits += killEdits(flag, variants.killed, users)
        } else {
            if flag.node.member("defaultVariant")?.value.flagValue != .string(variants.killed) {
                edits.append(set("defaultVariant", JSON.quoted(variants.killed), of: flag))
            }
            edits += killEverybodyEdits(flag, variants.killed)
        }
        let text = try applying(edits)
        let snapshot = try text.snapshot()
        for user in users?.map({ Optional($0) }) ?? [nil, "", "anybody"] {
            let resolution = snapshot.resolve(key, context: EvaluationContext(targetingKey: user))
            guard resolution.value == .bool(true) else {
                throw refusal(
                    "the flag \(quoted(key)) would not kill: \(resolution.errorMessage ?? "its rule decides otherwise")",
                    flag.keyRange
                )
            }
        }
        return text
    }

    /// Reverts ``killing(_:users:)``, for all users or for some.
    ///
    /// - Throws: A ``FlagError`` if the flag does not exist or does not have the form of a kill flag.
    public func rearming(_ key: String, users: [String]? = nil) throws(FlagError) -> FlagFileText {
        let flag = try flag(key)
        let variants = try killVariants(flag)
        if let users {
            guard let rule = rule(of: flag), let kill = KillRule(rule, killed: variants.killed),
                case .users(let node, let listed) = kill.condition
            else { return self }
            var list = JSONListText(document: document, node: node)
            list.elements = zip(listed, list.elements).filter { !users.holds($0.0) }.map(\.1)
            guard list.elements.isEmpty else { return try applying([replacing(node, list.text, in: flag)]) }
            return try applying(restEdits(kill, flag))
        }
        var text = self
        if flag.node.member("defaultVariant")?.value.flagValue != .string(variants.armed) {
            text = try text.applying([set("defaultVariant", JSON.quoted(variants.armed), of: flag)])
        }
        // The list of users may follow the condition for all.
        while let flag = text.document.flag(key), let rule = text.rule(of: flag),
            let kill = KillRule(rule, killed: variants.killed)
        {
            text = try text.applying(text.restEdits(kill, flag))
        }
        return text
    }

    private func killVariants(_ flag: FlagDocument.Flag) throws(FlagError) -> (killed: String, armed: String) {
        guard case .object(let members)? = flag.node.member("variants")?.value.value,
            let killed = members.first(where: { $0.value.flagValue == .bool(true) })?.key,
            let armed = members.first(where: { $0.value.flagValue == .bool(false) })?.key
        else {
            throw refusal(
                "the kill flag \(quoted(flag.key)) must have a variant that is true and one that is false",
                flag.keyRange
            )
        }
        return (killed, armed)
    }

    private func killEverybodyEdits(_ flag: FlagDocument.Flag, _ killed: String) -> [FlagFileEdit] {
        guard let rule = rule(of: flag) else { return [] }
        if let kill = KillRule(rule, killed: killed) {
            if case .everybody = kill.condition { return [] }
            // The list yields null for all others, and so they get the default.
            if kill.rest == nil { return [] }
        }
        let text = "{ \"if\": [true, \(JSON.quoted(killed)), \(document.text(of: rule))] }"
        return [set("targeting", text, of: flag)]
    }

    private func killEdits(_ flag: FlagDocument.Flag, _ killed: String, _ users: [String]) -> [FlagFileEdit] {
        let texts = users.map { JSON.quoted($0) }
        if let rule = rule(of: flag), let kill = KillRule(rule, killed: killed) {
            switch kill.condition {
            case .everybody:
                return []
            case .users(let node, let listed):
                let new = zip(users, texts).filter { !listed.holds($0.0) }.map(\.1)
                guard !new.isEmpty else { return [] }
                var list = JSONListText(document: document, node: node)
                list.elements += new
                return [replacing(node, list.text, in: flag)]
            }
        }
        let rest = rule(of: flag).map { document.text(of: $0) } ?? "null"
        let condition = "{ \"in\": [{ \"var\": \"targetingKey\" }, [\(texts.joined(separator: ", "))]] }"
        return [set("targeting", "{ \"if\": [\(condition), \(JSON.quoted(killed)), \(rest)] }", of: flag)]
    }

    private func restEdits(_ kill: KillRule, _ flag: FlagDocument.Flag) -> [FlagFileEdit] {
        guard let rest = kill.rest else { return [FlagFileEdit(flag.path + [.member("targeting")], .remove)] }
        return [set("targeting", document.text(of: rest), of: flag)]
    }

    /// Replaces the list of users in a ``KillRule``.
    private func replacing(_ list: JSONNode, _ text: String, in flag: FlagDocument.Flag) -> FlagFileEdit {
        let path = flag.path + [.member("targeting"), .member("if"), .element(0), .member("in"), .element(1)]
        return FlagFileEdit(path, .replace(text))
    }
}

extension [String] {
    /// Whether the list contains an id, compared by bytes, as in rules.
    fileprivate func holds(_ id: String) -> Bool { contains { $0.hasSameBytes(as: id) } }
}

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

    private static func entry(_ share: Share) -> String { "[\(JSON.quoted(share.variant)), \(share.weight)]" }

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
