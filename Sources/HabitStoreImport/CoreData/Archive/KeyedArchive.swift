import Foundation

/// A keyed archive (`NSKeyedArchiver`), read as keys and values without instantiating its objects.
struct KeyedArchive {
    /// The index of an object in the archive.
    typealias Reference = Int

    /// The property list's objects by index.
    private let nodes: [PropertyListNode]
    private let objects: [Int]
    let root: Reference

    /// Nil if the bytes are not a keyed archive.
    init?(_ data: Data) {
        guard let list = try? BinaryPropertyList([UInt8](data)) else { return nil }
        var nodes: [PropertyListNode] = []
        nodes.reserveCapacity(list.objects.count)
        for object in list.objects {
            guard let node = PropertyListNode(object, of: list) else { return nil }
            nodes.append(node)
        }
        guard let top = Self.members(nodes, list.top),
            let objectsNode = top["$objects"], case .array(let objects) = nodes[objectsNode],
            let topNode = top["$top"], let tops = Self.members(nodes, topNode),
            let rootNode = tops["root"] ?? tops.values.first, case .uid(let root) = nodes[rootNode],
            objects.indices.contains(root)
        else { return nil }
        self.nodes = nodes
        self.objects = objects
        self.root = root
    }

    private static func members(_ nodes: [PropertyListNode], _ node: Int) -> [String: Int]? {
        guard case .dictionary(let pairs) = nodes[node] else { return nil }
        var result: [String: Int] = [:]
        for (key, value) in pairs {
            if case .string(let name) = nodes[key] { result[name] = value }
        }
        return result
    }

    /// The object that a reference leads to.
    func node(_ reference: Reference) -> PropertyListNode {
        objects.indices.contains(reference) ? nodes[objects[reference]] : .null
    }

    /// An object's keys and values, with references resolved.
    func fields(_ reference: Reference) -> [String: Field] {
        guard objects.indices.contains(reference), let members = Self.members(nodes, objects[reference]) else {
            return [:]
        }
        return members.mapValues { number in
            if case .uid(let target) = nodes[number] { return Field(reference: target, node: node(target)) }
            return Field(reference: nil, node: nodes[number])
        }
    }

    func className(_ reference: Reference) -> String? {
        guard let target = fields(reference)["$class"]?.reference else { return nil }
        return fields(target)["$classname"]?.text
    }

    /// The members of an archived array, set or dictionary of values; empty for anything else.
    func elements(_ reference: Reference?) -> [Reference] {
        guard let reference else { return [] }
        var fields = fields(reference)
        // A dictionary over known keys keeps its values in a separate array.
        if let known = fields["values"]?.reference { fields = self.fields(known) }
        guard case .array(let members)? = fields["NS.objects"]?.node else { return [] }
        return members.compactMap { member in
            if case .uid(let target) = nodes[member] { return target }
            return nil
        }
    }

    /// The value of a key.
    struct Field {
        /// The object's reference; nil for an inline value.
        let reference: Reference?
        let node: PropertyListNode

        var text: String? {
            if case .string(let text) = node, text != "$null" { return text }
            return nil
        }
        var int: Int? {
            if case .int(let number) = node { return Int(number) }
            return nil
        }
        /// True or false, also if archived as a number.
        var bool: Bool {
            switch node {
            case .bool(let flag): return flag
            case .int(let number): return number != 0
            default: return false
            }
        }
        /// Whether the archive stores an explicit null.
        var isNull: Bool {
            switch node {
            case .null: return true
            case .string("$null"): return reference == 0
            default: return false
            }
        }
    }
}
