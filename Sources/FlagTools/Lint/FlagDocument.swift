import FeatureFlags
import JSONText

/// A flag file with its bytes and the position of everything in them. The linter, the editor and explanations work on it.
struct FlagDocument: Sendable {
    /// A step of a path into the file.
    enum Step: Sendable, Equatable {
        case member(String)
        case element(Int)
    }

    /// A flag, as an object's member or as an array's element with a `"key"`.
    struct Flag: Sendable {
        let key: String
        let keyRange: Range<Int>
        let node: JSONNode
        /// The path from the root.
        let path: [Step]
    }

    let source: SourceText
    let format: FlagFormat
    let root: JSONNode
    /// The parser's warnings, such as duplicate keys.
    let warnings: [FlagWarning]
    /// All flags in the file's order, including those that a later one with the same key hides.
    let flags: [Flag]
    /// The indices in ``flags`` of the flags that are not hidden, by key.
    private let places: [String: Int]
    /// The shared rules, by name.
    let evaluators: [String: JSONNode]
    /// The number of values in each evaluator that refers to no other one. Only these can be used.
    let evaluatorSizes: [String: Int]

    init(bytes: [UInt8], format: FlagFormat, name: String) throws(FlagError) {
        let source = try SourceText(bytes: bytes, name: name)
        var warnings = FlagWarningList()
        let root: JSONNode =
            switch format {
            case .json: try source.json(warnings: &warnings)
            case .yaml: try YAMLReader.parse(source)
            }
        self.source = source
        self.format = format
        self.root = root
        self.warnings = warnings.warnings
        flags = Self.flags(of: root)
        places = Dictionary(flags.enumerated().map { ($1.key, $0) }, uniquingKeysWith: { _, last in last })
        evaluators = root.evaluators
        evaluatorSizes = evaluators.filter { !Self.hasReference($0.value) }.mapValues(\.valueCount)
    }

    /// The effective flag: the last one with this key.
    func flag(_ key: String) -> Flag? { places[key].map { flags[$0] } }

    private static func hasReference(_ node: JSONNode) -> Bool {
        if case .reference = node.ruleForm { return true }
        return node.children.contains { hasReference($0) }
    }

    /// The flags of a file, in order.
    static func flags(of root: JSONNode) -> [Flag] {
        switch root.member("flags")?.value.value {
        case .object(let members)?:
            return members.map {
                Flag(key: $0.key, keyRange: $0.keyRange, node: $0.value, path: [.member("flags"), .member($0.key)])
            }
        case .array(let elements)?:
            return elements.enumerated().compactMap { index, element in
                guard let member = element.member("key"), case .string(let key) = member.value.value else { return nil }
                return Flag(
                    key: key,
                    keyRange: member.value.range,
                    node: element,
                    path: [.member("flags"), .element(index)]
                )
            }
        default:
            return []
        }
    }
}

extension FlagDocument {
    /// The bytes of a node as text.
    func text(of node: JSONNode) -> String { String(decoding: source.bytes[node.range], as: UTF8.self) }

    /// The node at a path; nil if there is none.
    func node(at path: [Step]) -> JSONNode? {
        var node: JSONNode? = root
        for step in path {
            switch (step, node?.value) {
            case (.member(let name), .object?): node = node?.member(name)?.value
            case (.element(let index), .array(let elements)?) where elements.indices.contains(index):
                node = elements[index]
            default: return nil
            }
        }
        return node
    }
}

/// Collects the findings of one file.
final class LintCollector {
    let source: SourceText
    private(set) var findings: [LintFinding] = []
    private(set) var errorLocations: Set<FlagError.Location> = []
    private var known: Set<LintFinding> = []
    private var counts: [LintFinding.Severity: Int] = [:]
    /// The positions of findings, in order and without duplicates.
    private var places: [Int] = []

    init(source: SourceText) { self.source = source }

    func add(_ rule: LintRule, _ message: String, at range: Range<Int>, severity: LintFinding.Severity? = nil) {
        let location = source.location(at: range.lowerBound)
        if add(LintFinding(rule, message, at: location, severity: severity)) { note(range.lowerBound) }
    }

    private func note(_ place: Int) {
        let index = firstIndex(from: place)
        if index == places.count || places[index] != place { places.insert(place, at: index) }
    }

    /// The index of the first position at or after an offset.
    private func firstIndex(from offset: Int) -> Int {
        places.indices.firstSortedIndex { places[$0] >= offset } ?? places.count
    }

    /// Whether anything was found within a range. Always false in YAML, whose ranges have one byte.
    func hasFinding(in range: Range<Int>) -> Bool {
        let index = firstIndex(from: range.lowerBound)
        return index < places.count && range.contains(places[index])
    }

    /// Adds a finding and returns whether there was room for it. A repeated finding, such as one in an evaluator that several flags refer to, counts
    /// once. Each severity has its own limit, so that warnings cannot crowd out an error.
    @discardableResult
    func add(_ finding: LintFinding) -> Bool {
        let count = counts[finding.severity, default: 0]
        guard count < FlagLinter.maximumFindings else { return false }
        guard known.insert(finding).inserted else { return true }
        counts[finding.severity] = count + 1
        findings.append(finding)
        if finding.severity == .error { errorLocations.insert(finding.location) }
        return true
    }

    var sorted: [LintFinding] {
        findings.enumerated().sorted { first, second in
            let left = (first.element.location.line ?? 0, first.element.location.column ?? 0, first.offset)
            let right = (second.element.location.line ?? 0, second.element.location.column ?? 0, second.offset)
            return left < right
        }.map(\.element)
    }
}

/// The remaining work for checking a file's rules, in examined values and evaluation steps.
///
/// A short file can take as much work as a long one, because many rules may refer to one evaluator, and conditions are evaluated at each occurrence.
/// The limit bounds how long callers wait for the linter, such as `flags set`, which holds a lock.
final class LintWork {
    static let maximum = 20_000_000

    private var rest: Int
    /// Where the work ran out; nil if it did not.
    private(set) var end: Range<Int>?

    init(_ maximum: Int = maximum) { rest = maximum }

    var isSpent: Bool { end != nil }

    /// Takes steps from the remaining work and returns whether there were enough.
    func spend(_ steps: Int, at range: @autoclosure () -> Range<Int>) -> Bool {
        guard rest >= steps else {
            if end == nil { end = range() }
            return false
        }
        rest -= steps
        return true
    }
}
