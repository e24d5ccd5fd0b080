import FeatureFlags
import Foundation

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
        let confirms = flag(fields["confirmsWaves"], "confirmsWaves") ?? false
        let names = flag(fields["namesUsers"], "namesUsers") ?? false
        let timeout = number(fields["timeoutSeconds"], "timeoutSeconds", Self.timeouts)
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
