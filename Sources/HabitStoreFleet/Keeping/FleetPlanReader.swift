import FeatureFlags
import Foundation
import HabitStore
import HabitStoreRollout
import JSONText

/// Reads plans, and reports the place of every error.
public struct FleetPlanReader {
    /// An error in a plan.
    public struct Issue: Sendable, Hashable, CustomStringConvertible {
        /// The file.
        public let file: String
        /// The line, from 1.
        public let line: Int
        /// The column, from 1.
        public let column: Int
        /// The error and what to do.
        public let message: String

        /// `file:line:column: message`.
        public var description: String { "\(file):\(line):\(column): \(message)" }
    }

    private static let kind = SourceText.Kind("plan", least: "an object: {}")
    private static let mostWaves = 100
    /// The slowest pace: a user in 1,000 minutes, a mebibyte in 1,000 seconds.
    private static let slowest = 0.001
    /// The longest time: ten years.
    private static let longest = 315_360_000.0

    private static let shares = 0.01...100
    private static let milliseconds = 0.1...1_800

    private let source: SourceText
    let isStored: Bool
    private var issues: [Issue] = []

    /// Reads a plan.
    ///
    /// - Parameter path: a JSON file, or a YAML file if it has that extension.
    /// - Returns: the plan, or all its errors.
    /// - Throws: ``HabitStoreError/Code/notFound`` or ``HabitStoreError/Code/inputOutput`` if the file cannot be read.
    public static func read(path: String) throws -> (plan: FleetPlan?, issues: [Issue]) {
        let (plan, issues, _) = try readText(path: path)
        return (plan, issues)
    }

    /// Reads a plan as ``read(path:)`` does, and returns its bytes as well, since the file may change at any time.
    public static func readText(path: String) throws -> (plan: FleetPlan?, issues: [Issue], text: Data) {
        try readText(path: path, isStored: false)
    }

    /// - Parameter isStored: whether the plan was drawn already, perhaps by an earlier version.
    static func readText(path: String, isStored: Bool) throws -> (plan: FleetPlan?, issues: [Issue], text: Data) {
        var text = Data()
        do {
            let bytes = try FlagFileReader.read(path: path, kind: kind)
            text = Data(bytes)
            let source = try SourceText(bytes: bytes, name: path, kind: kind)
            let root: JSONNode
            var warnings = FlagWarningList()
            if path.hasSuffix(".yaml") || path.hasSuffix(".yml") {
                root = try YAMLReader.parse(source)
            } else {
                root = try source.json(warnings: &warnings)
            }
            var reader = FleetPlanReader(source: source, isStored: isStored)
            reader.issues = warnings.warnings.map { warning in
                Issue(
                    file: path,
                    line: warning.location.line ?? 1,
                    column: warning.location.column ?? 1,
                    message: warning.message
                )
            }
            let plan = reader.plan(root)
            return (reader.issues.isEmpty ? plan : nil, reader.issues, text)
        } catch let error where error.location.line != nil {
            let issue = Issue(
                file: path,
                line: error.location.line ?? 1,
                column: error.location.column ?? 1,
                message: error.message
            )
            return (nil, [issue], text)
        } catch {
            throw HabitStoreError(
                error.code == .fileNotFound ? .notFound : .inputOutput,
                "the plan cannot be read: \(error.message)",
                at: .init(path: path),
                underlying: error
            )
        }
    }

    private init(source: SourceText, isStored: Bool) {
        (self.source, self.isStored) = (source, isStored)
    }

    mutating func add(_ message: String, at offset: Int) {
        let place = source.location(at: offset)
        issues.append(Issue(file: source.name, line: place.line ?? 1, column: place.column ?? 1, message: message))
    }

    // MARK: Parts

    private mutating func plan(_ root: JSONNode) -> FleetPlan? {
        let known: Set = [
            "$schema", "stage", "waves", "ioPressure", "lookSeconds", "writeP99Milliseconds", "halts", "hooks",
        ]
        guard let fields = object(root, known.union(Self.paceFields), "a plan") else { return nil }
        var plan = FleetPlan(waves: fields["waves"].map { waves($0) } ?? FleetPlan.standardWaves)
        if let stage = fields["stage"] {
            let name = text(stage, "stage")
            if let known = name.flatMap(Stage.init(rawValue:)), known > .off {
                plan.stage = known
            } else if name != nil {
                let names = Stage.allCases.dropFirst().map(\.rawValue).joined(separator: ", ")
                add("stage must be one of \(names)", at: stage.range.lowerBound)
            }
        }
        plan.take(pace(fields))
        plan.ioPressure = optional(fields, "ioPressure", Self.shares, plan.ioPressure)
        plan.writeP99Milliseconds = optional(fields, "writeP99Milliseconds", Self.milliseconds, nil)
        plan.lookSeconds = number(fields, "lookSeconds", 0.01...86_400) ?? plan.lookSeconds
        if let hooks = fields["hooks"] { plan.hooks = self.hooks(hooks) }
        if let halts = fields["halts"] { plan.halts = self.halts(halts) }
        if let waves = fields["waves"] { requireReads(waves, plan) }
        return plan
    }

    private static let paceFields: Set = [
        "usersPerMinute", "mebibytesPerSecond", "atOnce", "heavyAtOnce", "heavyBytes", "hours", "heavyHours",
    ]

    /// The pace in a plan or a wave.
    private mutating func pace(_ fields: [String: JSONNode]) -> FleetPlan.Pace {
        FleetPlan.Pace(
            usersPerMinute: number(fields, "usersPerMinute", Self.slowest...1e9),
            mebibytesPerSecond: number(fields, "mebibytesPerSecond", Self.slowest...1e9),
            atOnce: whole(fields, "atOnce", 1...64),
            heavyAtOnce: whole(fields, "heavyAtOnce", 1...64),
            heavyBytes: whole(fields, "heavyBytes", 1...Int.max),
            hours: fields["hours"].flatMap { hours($0, "hours") },
            heavyHours: fields["heavyHours"].flatMap { hours($0, "heavyHours") }
        )
    }

    private mutating func waves(_ node: JSONNode) -> [FleetPlan.Wave] {
        guard case .array(let nodes) = node.value, !nodes.isEmpty else {
            add("waves must be a list of at least one wave", at: node.range.lowerBound)
            return []
        }
        guard nodes.count <= Self.mostWaves else {
            add("a plan has at most \(Self.mostWaves) waves", at: node.range.lowerBound)
            return []
        }
        var waves: [FleetPlan.Wave] = []
        for (number, node) in nodes.enumerated() {
            guard let wave = wave(node, number + 1) else { continue }
            if waves.contains(where: { $0.name == wave.name }) {
                add("two waves are called \"\(wave.name)\"; give each its own name", at: node.range.lowerBound)
            }
            if let before = waves.last, Self.isBehind(before.extent, wave.extent) {
                add(
                    "a wave's extent includes the waves before, and this one is not above \"\(before.name)\"",
                    at: node.range.lowerBound
                )
            }
            waves.append(wave)
        }
        if let last = waves.last, last.extent != .percent(100), let node = nodes.last {
            add("the last wave must be for all users who are left: \"percent\": 100", at: node.range.lowerBound)
        }
        return waves
    }

    /// Refuses waves that wait for shadow reads if the plan ends before any are made.
    private mutating func requireReads(_ node: JSONNode, _ plan: FleetPlan) {
        guard plan.lastShadowedStage == nil, case .array(let nodes) = node.value else { return }
        for case .object(let members) in nodes.map(\.value) {
            for member in members where member.key == "cleanShadowReads" {
                guard case .int(let reads) = member.value.value, reads > 0 else { continue }
                add(
                    "reads are compared from the stage shadow on, and this plan ends at \(plan.stage.rawValue): leave cleanShadowReads out, or "
                        + "name a later stage",
                    at: member.value.range.lowerBound
                )
            }
        }
    }

    /// Whether a wave's extent is not larger than the one before, as far as that does not depend on the number of users.
    private static func isBehind(_ before: FleetPlan.Wave.Extent, _ wave: FleetPlan.Wave.Extent) -> Bool {
        switch (before, wave) {
        case (.users(let a), .users(let b)): a >= b
        case (.percent(let a), .percent(let b)): a >= b
        case (.percent, .users): true
        case (.users, .percent): false
        }
    }

    private mutating func wave(_ node: JSONNode, _ number: Int) -> FleetPlan.Wave? {
        let known: Set = ["name", "users", "percent", "soakSeconds", "cleanShadowReads", "writes"]
        guard let fields = object(node, known.union(Self.paceFields), "a wave") else { return nil }
        let users = whole(fields, "users", 1...Int.max)
        let percent = self.number(fields, "percent", 1e-6...100)
        guard (fields["users"] == nil) != (fields["percent"] == nil) else {
            add("a wave must have users or percent, and only one of them", at: node.range.lowerBound)
            return nil
        }
        guard let extent = users.map(FleetPlan.Wave.Extent.users) ?? percent.map(FleetPlan.Wave.Extent.percent) else {
            return nil
        }
        return FleetPlan.Wave(
            name: fields["name"].flatMap { text($0, "name") } ?? "wave \(number)",
            extent: extent,
            soakSeconds: self.number(fields, "soakSeconds", 0...Self.longest) ?? 0,
            cleanShadowReads: whole(fields, "cleanShadowReads", 0...Int.max) ?? 0,
            writes: whole(fields, "writes", 0...Int.max) ?? 0,
            own: pace(fields)
        )
    }

    private mutating func hours(_ node: JSONNode, _ name: String) -> FleetPlan.Hours? {
        guard let fields = object(node, ["from", "to", "timeZone"], name) else { return nil }
        let zone = fields["timeZone"].flatMap { text($0, "timeZone") } ?? "GMT"
        if TimeZone(identifier: zone) == nil {
            let place = fields["timeZone"] ?? node
            add("there is no time zone \"\(zone)\"; write one like Europe/Berlin", at: place.range.lowerBound)
        }
        guard let first = fields["from"], let last = fields["to"] else {
            add("\(name) must have from and to, such as \"08:00\" and \"20:00\"", at: node.range.lowerBound)
            return nil
        }
        // Both, to report all errors together.
        let (from, to) = (minute(first, "from"), minute(last, "to"))
        guard let from, let to else { return nil }
        guard from != to else {
            add("\(name) ends when it begins; leave it out to allow any time", at: node.range.lowerBound)
            return nil
        }
        return FleetPlan.Hours(from: from, to: to, timeZone: zone)
    }

    private mutating func minute(_ node: JSONNode, _ name: String) -> Int? {
        guard let text = text(node, name) else { return nil }
        let parts = text.split(separator: ":").map { Int($0) }
        guard parts.count == 2, let hour = parts[0], let minute = parts[1], (0...23).contains(hour),
            (0...59).contains(minute)
        else {
            add("\(name) must be a time of the day, such as \"08:00\"", at: node.range.lowerBound)
            return nil
        }
        return hour * 60 + minute
    }

    private mutating func halts(_ node: JSONNode) -> FleetPlan.Halts {
        var halts = FleetPlan.Halts()
        let known: Set = [
            "errorsInARow", "inconclusiveLooks", "demotedPercent", "ioPressure", "writeP99Percent",
            "writeP99Milliseconds",
        ]
        guard let fields = object(node, known, "halts") else { return halts }
        halts.errorsInARow = whole(fields, "errorsInARow", 1...Int.max) ?? halts.errorsInARow
        halts.inconclusiveLooks = whole(fields, "inconclusiveLooks", 1...Int.max) ?? halts.inconclusiveLooks
        halts.demotedPercent = number(fields, "demotedPercent", 0...100) ?? halts.demotedPercent
        halts.ioPressure = optional(fields, "ioPressure", Self.shares, halts.ioPressure)
        halts.writeP99Percent = optional(fields, "writeP99Percent", 1...1_000, halts.writeP99Percent)
        halts.writeP99Milliseconds = optional(fields, "writeP99Milliseconds", Self.milliseconds, nil)
        return halts
    }

    // MARK: Values

    mutating func object(_ node: JSONNode, _ known: Set<String>, _ what: String) -> [String: JSONNode]? {
        guard case .object(let members) = node.value else {
            add("\(what) must be an object", at: node.range.lowerBound)
            return nil
        }
        var fields: [String: JSONNode] = [:]
        for member in members {
            guard known.contains(member.key) else {
                let names = known.filter { $0 != "$schema" }.sorted().joined(separator: ", ")
                add("\(what) has no field \"\(member.key)\"; it has \(names)", at: member.keyRange.lowerBound)
                continue
            }
            if fields[member.key] != nil {
                add("\(what) has the field \"\(member.key)\" twice; keep one of them", at: member.keyRange.lowerBound)
            }
            fields[member.key] = member.value
        }
        return fields
    }

    mutating func text(_ node: JSONNode, _ name: String) -> String? {
        if case .string(let text) = node.value, !text.isEmpty { return text }
        add("\(name) must be a string that is not empty", at: node.range.lowerBound)
        return nil
    }

    mutating func flag(_ fields: [String: JSONNode], _ name: String) -> Bool? {
        guard let node = fields[name] else { return nil }
        if case .bool(let value) = node.value { return value }
        add("\(name) must be true or false", at: node.range.lowerBound)
        return nil
    }

    /// A number, or null to turn the limit off.
    private mutating func optional(
        _ fields: [String: JSONNode],
        _ name: String,
        _ range: ClosedRange<Double>,
        _ normal: Double?
    ) -> Double? {
        guard let node = fields[name] else { return normal }
        if case .null = node.value { return nil }
        return number(fields, name, range)
    }

    mutating func number(_ fields: [String: JSONNode], _ name: String, _ range: ClosedRange<Double>) -> Double? {
        guard let node = fields[name] else { return nil }
        let value: Double? =
            switch node.value {
            case .int(let value): Double(value)
            case .double(let value): value
            default: nil
            }
        if let value, range.contains(value) { return value }
        func text(_ bound: Double) -> String { bound == bound.rounded() ? "\(Int(bound))" : "\(bound)" }
        add(
            "\(name) must be a number from \(text(range.lowerBound)) to \(text(range.upperBound))",
            at: node.range.lowerBound
        )
        return nil
    }

    mutating func whole(_ fields: [String: JSONNode], _ name: String, _ range: ClosedRange<Int>) -> Int? {
        guard let node = fields[name] else { return nil }
        if case .int(let value) = node.value, let whole = Int(exactly: value), range.contains(whole) { return whole }
        let most = range.upperBound == Int.max ? "" : " to \(range.upperBound)"
        add("\(name) must be a whole number from \(range.lowerBound)\(most)", at: node.range.lowerBound)
        return nil
    }
}

extension FleetPlanReader {
    private static let mostHooks = 10
    private static let timeouts = 0.1...120.0

    /// Reads the list of hooks.
    mutating func hooks(_ node: JSONNode) -> [FleetPlan.Hook] {
        guard case .array(let nodes) = node.value else {
            add("hooks must be a list of hooks", at: node.range.lowerBound)
            return []
        }
        guard nodes.count <= Self.mostHooks else {
            add("a plan has at most \(Self.mostHooks) hooks", at: node.range.lowerBound)
            return []
        }
        var hooks: [FleetPlan.Hook] = []
        for node in nodes {
            guard let hook = hook(node) else { continue }
            if hooks.contains(where: { $0.name == hook.name }) {
                add("two hooks are called \"\(hook.name)\"; give each its own name", at: node.range.lowerBound)
            }
            hooks.append(hook)
        }
        return hooks
    }

    private mutating func hook(_ node: JSONNode) -> FleetPlan.Hook? {
        let fields = object(node, isStored ? Self.hookFields.union(Self.formerHookFields) : Self.hookFields, "a hook")
        guard let fields else { return nil }
        let program = fields["program"].flatMap { self.program($0) }
        let name = fields["name"].flatMap { text($0, "name") }
        let isFormer = isStored && fields["url"] != nil
        if fields["program"] == nil, !isFormer {
            add("a hook needs the path of a program, and this one has none", at: node.range.lowerBound)
        }
        let arguments = fields["arguments"].map { self.arguments($0) } ?? []
        let events = fields["events"].map { self.events($0) }
        let confirms = flag(fields, "confirmsWaves") ?? false
        let names = flag(fields, "namesUsers") ?? false
        let timeout = number(fields, "timeoutSeconds", Self.timeouts)
        var hook: FleetPlan.Hook
        if let program {
            hook = FleetPlan.Hook(name: name ?? (program as NSString).lastPathComponent, program: program)
        } else if isFormer {
            hook = FleetPlan.Hook(formerlyNamed: name ?? formerName(fields["url"]))
        } else {
            return nil
        }
        (hook.arguments, hook.events) = (arguments, events)
        (hook.confirmsWaves, hook.namesUsers) = (confirms, names)
        hook.timeoutSeconds = timeout ?? hook.timeoutSeconds
        return hook
    }

    private static let hookFields: Set = [
        "name", "program", "arguments", "events", "confirmsWaves", "namesUsers", "timeoutSeconds",
    ]
    /// The fields of hooks when they were URLs.
    private static let formerHookFields: Set = ["url", "secretFile", "allowsPlainHTTP"]

    /// The default name of a URL hook: its host and port.
    private func formerName(_ node: JSONNode?) -> String {
        guard case .string(let text)? = node?.value, let url = URL(string: text), let host = url.host() else {
            return ""
        }
        return url.port.map { "\(host):\($0)" } ?? host
    }

    private mutating func program(_ node: JSONNode) -> String? {
        guard let path = text(node, "program") else { return nil }
        guard path.hasPrefix("/") else {
            add(
                "program must be a path that begins with /, because the plan is copied to another folder",
                at: node.range.lowerBound
            )
            return nil
        }
        guard !path.contains("\u{0}") else {
            add("program contains U+0000, at which the system would end the path", at: node.range.lowerBound)
            return nil
        }
        return path
    }

    private mutating func arguments(_ node: JSONNode) -> [String] {
        guard case .array(let nodes) = node.value else {
            add("arguments must be a list of strings", at: node.range.lowerBound)
            return []
        }
        return nodes.compactMap { node in
            guard case .string(let text) = node.value else {
                add("an argument must be a string", at: node.range.lowerBound)
                return nil
            }
            guard !text.contains("\u{0}") else {
                add("an argument contains U+0000, at which the system would end it", at: node.range.lowerBound)
                return nil
            }
            return text
        }
    }

    private mutating func events(_ node: JSONNode) -> Set<String> {
        guard case .array(let nodes) = node.value else {
            add("events must be a list of names of events", at: node.range.lowerBound)
            return []
        }
        var events: Set<String> = []
        for node in nodes {
            guard let name = text(node, "an event") else { continue }
            guard FleetEvent.kinds.contains(name) else {
                let names = FleetEvent.kinds.joined(separator: ", ")
                add("there is no event \"\(name)\"; there are \(names)", at: node.range.lowerBound)
                continue
            }
            events.insert(name)
        }
        return events
    }
}
