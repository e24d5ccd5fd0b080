import FeatureFlags
import Foundation

extension FleetPlanReader {
    private static let mostHooks = 10
    private static let timeouts = 0.1...120.0

    /// Who is told, and asked.
    mutating func hooks(_ node: JSONNode) -> [FleetPlan.Hook] {
        guard case .array(let nodes) = node.value else {
            add("hooks is a list of hooks", at: node.range.lowerBound)
            return []
        }
        guard nodes.count <= Self.mostHooks else {
            add("a plan has \(Self.mostHooks) hooks at most", at: node.range.lowerBound)
            return []
        }
        var hooks: [FleetPlan.Hook] = []
        for node in nodes {
            guard let hook = hook(node) else { continue }
            if hooks.contains(where: { $0.name == hook.name }) {
                add("two hooks are called \"\(hook.name)\"; give each a name of its own", at: node.range.lowerBound)
            }
            hooks.append(hook)
        }
        return hooks
    }

    private mutating func hook(_ node: JSONNode) -> FleetPlan.Hook? {
        let known: Set = [
            "name", "url", "secretFile", "events", "confirmsWaves", "namesUsers", "timeoutSeconds", "allowsPlainHTTP",
        ]
        guard let fields = object(node, known, "a hook") else { return nil }
        let allowsPlain = flag(fields["allowsPlainHTTP"], "allowsPlainHTTP") ?? false
        let address = fields["url"].flatMap { url($0, allowsPlain: allowsPlain) }
        let file = fields["secretFile"].flatMap { secretFile($0) }
        for name in ["url", "secretFile"] where fields[name] == nil {
            add("a hook has url and secretFile, and this one has no \(name)", at: node.range.lowerBound)
        }
        let name = fields["name"].map { text($0, "name") }
        let events = fields["events"].map { self.events($0) }
        let confirms = flag(fields["confirmsWaves"], "confirmsWaves") ?? false
        let names = flag(fields["namesUsers"], "namesUsers") ?? false
        let timeout = number(fields["timeoutSeconds"], "timeoutSeconds", Self.timeouts)
        guard let address, let file, let host = address.host() else { return nil }
        let place = address.port.map { "\(host):\($0)" } ?? host
        var hook = FleetPlan.Hook(name: name.map { $0 ?? "" } ?? place, url: address, secretFile: file)
        hook.events = events
        (hook.confirmsWaves, hook.namesUsers) = (confirms, names)
        hook.timeoutSeconds = timeout ?? hook.timeoutSeconds
        return hook
    }

    /// Nothing of a URL is repeated: it may hold a secret.
    private mutating func url(_ node: JSONNode, allowsPlain: Bool) -> URL? {
        guard let text = text(node, "url") else { return nil }
        guard let parts = URLComponents(string: text), let url = parts.url, let host = parts.host, !host.isEmpty,
            let scheme = parts.scheme?.lowercased(), ["http", "https"].contains(scheme), parts.fragment == nil
        else {
            add("url is written as https://HOST/PATH", at: node.range.lowerBound)
            return nil
        }
        guard parts.user == nil, parts.password == nil else {
            add(
                "url has a user or a password in it, which the plan would keep; leave it out",
                at: node.range.lowerBound
            )
            return nil
        }
        guard scheme == "https" || allowsPlain || Self.isLoopback(host) else {
            add(
                "url is https, so that nobody reads along; http is for this machine (127.0.0.1), or with \"allowsPlainHTTP\": true",
                at: node.range.lowerBound
            )
            return nil
        }
        return url
    }

    private static func isLoopback(_ host: String) -> Bool {
        if ["localhost", "::1", "[::1]"].contains(host.lowercased()) { return true }
        var address = in_addr()
        // 127.0.0.0/8, and no name that only begins so.
        guard inet_pton(AF_INET, host, &address) == 1 else { return false }
        return UInt32(bigEndian: address.s_addr) >> 24 == 127
    }

    private mutating func secretFile(_ node: JSONNode) -> String? {
        guard let path = text(node, "secretFile") else { return nil }
        guard path.hasPrefix("/") else {
            add("secretFile is a path from / on: the plan is kept in another folder", at: node.range.lowerBound)
            return nil
        }
        return path
    }

    private mutating func events(_ node: JSONNode) -> Set<String> {
        guard case .array(let nodes) = node.value else {
            add("events is a list of names of events", at: node.range.lowerBound)
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
