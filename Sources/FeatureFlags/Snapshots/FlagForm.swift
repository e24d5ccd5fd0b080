import JSONText

/// A place where a flag file does not have the form of flagd's `flags.json` (flagd-schemas).
package struct FormProblem {
    package enum Kind {
        /// The file, or the flag, cannot be used.
        case unusable
        /// A number for which the flag cannot be used; the linter leaves it to the loading.
        case number
        /// It can be used, and flagd's schema refuses it.
        case refusedBySchema
        case unknownMember
        case metadata
    }

    package let kind: Kind
    package let message: String
    /// The message of the linter.
    package let lintMessage: String
    package let range: Range<Int>

    fileprivate init(_ kind: Kind, _ message: String, _ range: Range<Int>, lintMessage: String? = nil) {
        (self.kind, self.message, self.range) = (kind, message, range)
        self.lintMessage = lintMessage ?? message
    }

    /// Whether it quarantines the flag, or stops the loading of the file.
    var isError: Bool { kind == .unusable || kind == .number }
    /// Whether loading goes on with a warning.
    var isWarning: Bool { kind == .unknownMember || kind == .metadata }
}

/// The form of a flag file, which loading and the linter check here.
package enum FlagForm {
    private static let fileMembers: Set<String> = ["flags", "metadata", "$evaluators", "$schema"]
    private static let flagMembers: Set<String> = ["state", "variants", "defaultVariant", "targeting", "metadata"]

    /// The problems with a file's own members, except its flags and evaluators.
    package static func problems(ofFile root: JSONNode) -> [FormProblem] {
        guard case .object(let members) = root.value else {
            return [unusableType("a flag file must be an object", root, ", and this is a value")]
        }
        return unknown(members, fileMembers, "a flag file") + metadataProblems(of: root)
    }

    /// The problems with a flag, except those in its rule.
    ///
    /// - Parameters:
    ///   - keyRange: Where a problem of the flag as a whole is.
    ///   - allowsKey: Whether the flag may have a `"key"`, as in an array.
    package static func problems(
        ofFlag node: JSONNode,
        keyRange: Range<Int>,
        allowsKey: Bool = true
    ) -> [FormProblem] {
        guard case .object(let members) = node.value else {
            return [unusableType("a flag must be an object", node, ", and this is a value")]
        }
        let own = allowsKey ? members.filter { $0.key != "key" } : members
        return unknown(own, flagMembers, "a flag") + metadataProblems(of: node) + stateProblems(of: node, keyRange)
            + variantProblems(of: node, keyRange) + defaultVariantProblems(of: node) + targetingProblems(of: node)
    }

    /// Whether a flag is disabled. One whose state is wrong is not.
    package static func isDisabled(_ flag: JSONNode) -> Bool {
        if case .string("DISABLED")? = flag.member("state")?.value.value { true } else { false }
    }

    /// The metadata of a file or a flag: texts, numbers and booleans by name. It decides nothing, so what is wrong with it is
    /// left out.
    static func metadata(of node: JSONNode) -> [String: FlagValue] {
        let members = node.member("metadata")?.value.membersByName ?? [:]
        return members.filter { metadataMistake($0.value) == nil }.mapValues(\.flagValue)
    }

    private static func metadataProblems(of node: JSONNode) -> [FormProblem] {
        guard let metadata = node.member("metadata")?.value else { return [] }
        guard case .object(let members) = metadata.value else {
            return [FormProblem(.metadata, "the \"metadata\" must be an object; it is ignored", metadata.range)]
        }
        return members.compactMap { member in
            metadataMistake(member.value).map {
                FormProblem(.metadata, "the metadata \(quoted(member.key)) \($0)", member.value.range)
            }
        }
    }

    private static func metadataMistake(_ node: JSONNode) -> String? {
        switch node.value {
        case .double(let number) where !number.isFinite: "is ignored: \(JSONNode.unusableNumberMessage)"
        case .bool, .int, .double, .string: nil
        case .null, .array, .object: "must be a string, number or boolean; it is ignored"
        }
    }

    private static func unknown(_ members: [JSONMember], _ known: Set<String>, _ what: String) -> [FormProblem] {
        members.filter { !known.contains($0.key) }.map { member in
            let message = "\(what) has no member \(quoted(member.key)); it is ignored"
            let question = NearMiss.question(member.key, among: known.sorted())
            return FormProblem(.unknownMember, message, member.keyRange, lintMessage: message + question)
        }
    }

    private static func stateProblems(of node: JSONNode, _ keyRange: Range<Int>) -> [FormProblem] {
        guard let state = node.member("state")?.value else {
            return [
                FormProblem(.unusable, "the flag has no \"state\"; write \"ENABLED\" or \"DISABLED\"", keyRange)
            ]
        }
        if case .string("ENABLED") = state.value { return [] }
        if isDisabled(node) { return [] }
        return [FormProblem(.unusable, "the \"state\" must be \"ENABLED\" or \"DISABLED\"", state.range)]
    }

    private static func variantProblems(of node: JSONNode, _ keyRange: Range<Int>) -> [FormProblem] {
        guard let variants = node.member("variants")?.value else {
            return [FormProblem(.unusable, "the flag has no \"variants\"", keyRange)]
        }
        guard case .object(let members) = variants.value, let first = members.first else {
            let message = "the \"variants\" must be an object with at least one member"
            return [FormProblem(.unusable, message, variants.range)]
        }
        return members.compactMap { variant in
            let type = variant.value.typeName
            guard ["boolean", "string", "number", "object"].contains(type) else {
                let message = "a variant must be a boolean, string, number or object, not \(type)"
                return FormProblem(.unusable, message, variant.value.range)
            }
            guard type == first.value.typeName else {
                let message =
                    "all variants of a flag must be of one type: \(quoted(first.key)) is of type "
                    + "\(first.value.typeName), and \(quoted(variant.key)) of type \(type)"
                return FormProblem(.unusable, message, variant.value.range)
            }
            return variant.value.unusableNumber.map {
                FormProblem(.number, JSONNode.unusableNumberMessage, $0.range)
            }
        }
    }

    private static func defaultVariantProblems(of node: JSONNode) -> [FormProblem] {
        guard let member = node.member("defaultVariant") else { return [] }
        switch member.value.value {
        case .null: return []
        case .string(let name):
            // As in flagd, an empty default variant is the same as a missing one.
            guard case .object(let variants)? = node.member("variants")?.value.value, !variants.isEmpty, !name.isEmpty,
                !variants.contains(where: { $0.key == name })
            else { return [] }
            let message = "the \"defaultVariant\" \(quoted(name)) is not one of the variants"
            let question = NearMiss.question(name, among: variants.map(\.key).sorted())
            return [FormProblem(.unusable, message, member.value.range, lintMessage: message + question)]
        default:
            let message = "the \"defaultVariant\" must be the name of a variant, or null"
            return [FormProblem(.unusable, message, member.value.range)]
        }
    }

    private static func targetingProblems(of node: JSONNode) -> [FormProblem] {
        guard let targeting = node.member("targeting")?.value else { return [] }
        switch targeting.value {
        case .null:
            let message = "the schema of flagd refuses a \"targeting\" of null; leave it out"
            return [FormProblem(.refusedBySchema, message, targeting.range)]
        case .object(let members) where members.count <= 1:
            return []
        case .object:
            let message = "the \"targeting\" must hold one operator, and holds more members"
            return [FormProblem(.unusable, message, targeting.range)]
        default:
            return [unusableType("the \"targeting\" must be an object with one operator", targeting, ", not a value")]
        }
    }

    private static func unusableType(_ message: String, _ node: JSONNode, _ loaded: String) -> FormProblem {
        let type = "of type \(node.typeName)"
        return FormProblem(
            .unusable,
            "\(message)\(loaded) \(type)",
            node.range,
            lintMessage: "\(message), not \(type)"
        )
    }
}
