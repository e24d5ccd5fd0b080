import JSONText

/// The meaning of a JSON value in a rule. Whatever reads rules reads them in this form: the compiler, the linter, the editor.
package enum RuleForm {
    /// A value that stands for itself: a scalar, or an object that does not have exactly one member.
    case value
    case list([JSONNode])
    /// An object of one member: an operator with its arguments.
    case operation(JSONMember)
    /// `{"$ref": "name"}`: the rule under `$evaluators` with the name.
    case reference(JSONMember)
}

extension JSONNode {
    /// What the value means in a rule.
    package var ruleForm: RuleForm {
        switch value {
        case .array(let elements): return .list(elements)
        case .object(let members):
            guard members.count == 1, let member = members.first else { return .value }
            return member.key == "$ref" ? .reference(member) : .operation(member)
        case .null, .bool, .int, .double, .string: return .value
        }
    }

    /// The name in a `$ref`, and where it stands; nil for any other value.
    package var reference: (name: String, range: Range<Int>)? {
        guard case .reference(let member) = ruleForm, case .string(let name) = member.value.value else { return nil }
        return (name, member.value.range)
    }

    /// The rule that the value stands for; nil if it does not refer to one of the evaluators.
    package func referred(in evaluators: [String: JSONNode]) -> JSONNode? {
        reference.flatMap { evaluators[$0.name] }
    }

    /// The value as an operator's arguments: a list's elements, or a single argument without brackets.
    package var arguments: [JSONNode] { if case .array(let elements) = value { elements } else { [self] } }

    package var isObject: Bool { if case .object = value { true } else { false } }

    /// The elements of an array, or the values of an object.
    package var children: [JSONNode] {
        switch value {
        case .null, .bool, .int, .double, .string: []
        case .array(let elements): elements
        case .object(let members): members.map(\.value)
        }
    }

    /// The members of an object by name; empty for any other value.
    package var membersByName: [String: JSONNode] {
        guard case .object(let members) = value else { return [:] }
        return Dictionary(members.map { ($0.key, $0.value) }, uniquingKeysWith: { _, last in last })
    }

    /// The rules that the flags of a file share, by name; empty for a value that is not a flag file.
    package var evaluators: [String: JSONNode] { member("$evaluators")?.value.membersByName ?? [:] }
}

/// A mistake for which no rule can be compiled.
package struct RuleMistake {
    package enum Kind {
        case misplacedOperator
        case unknownOperator
        case malformedReference
        case nestedReference
        case unknownReference
    }

    package let kind: Kind
    /// The operator or the evaluator; empty for a malformed reference.
    package let name: String
    package let message: String
    package let range: Range<Int>

    /// Looks at one value of a rule, and not at those in it. Nil if it is in order.
    ///
    /// - Parameter evaluator: The evaluator whose rule it is; nil for a flag's own rule.
    package init?(in node: JSONNode, of evaluator: String?, evaluators: [String: JSONNode]) {
        switch node.ruleForm {
        case .list: return nil
        case .value:
            // An object of several members is data, unless it was meant to be an operation.
            guard case .object(let members) = node.value,
                let name = members.first(where: { OperatorTable.row($0.key) != nil || $0.key == "$ref" })?.key
            else { return nil }
            self.init(
                .misplacedOperator,
                name,
                "the operator \(quoted(name)) must be the only member of its object",
                node.range
            )
        case .operation(let member):
            guard OperatorTable.row(member.key) == nil else { return nil }
            self.init(
                .unknownOperator,
                member.key,
                "the operator \(quoted(member.key)) is not known; check how it is spelled",
                member.keyRange
            )
        case .reference(let member):
            self.init(reference: member, of: evaluator, evaluators: evaluators)
        }
    }

    private init?(reference: JSONMember, of evaluator: String?, evaluators: [String: JSONNode]) {
        let range = reference.value.range
        guard case .string(let name) = reference.value.value else {
            self.init(.malformedReference, "", "a \"$ref\" must be the name of one of the \"$evaluators\"", range)
            return
        }
        if let evaluator {
            self.init(
                .nestedReference,
                name,
                "the evaluator \(quoted(evaluator)) refers to \(quoted(name)); evaluators cannot refer to each other",
                reference.keyRange
            )
            return
        }
        guard evaluators[name] == nil else { return nil }
        self.init(.unknownReference, name, "there is no evaluator \(quoted(name)) under \"$evaluators\"", range)
    }

    private init(_ kind: Kind, _ name: String, _ message: String, _ range: Range<Int>) {
        (self.kind, self.name, self.message, self.range) = (kind, name, message, range)
    }
}
