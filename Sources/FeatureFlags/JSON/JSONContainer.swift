/// An array or object whose end the parser has not met yet.
struct JSONContainer {
    enum Kind {
        case array
        case object
    }

    let kind: Kind
    let start: Int
    private var elements: [JSONNode] = []
    private var members: [JSONMember] = []
    /// Where each key stands in `members`; kept only once a search by walking would be slow.
    private var indexByKey: [String: Int] = [:]
    /// The key whose value comes next.
    var pendingKey: (key: String, range: Range<Int>)?

    private static let walkedMembers = 8

    init(_ kind: Kind, start: Int) {
        self.kind = kind
        self.start = start
    }

    /// Adds an element, or the value of the pending key. Returns the key's place if the object had that key already:
    /// the new value has then replaced the old one.
    mutating func append(_ node: JSONNode) -> (key: String, range: Range<Int>)? {
        guard let pending = pendingKey else {
            elements.append(node)
            return nil
        }
        pendingKey = nil
        let member = JSONMember(key: pending.key, keyRange: pending.range, value: node)
        if let index = index(of: pending.key) {
            members[index] = member
            return pending
        }
        if members.count >= Self.walkedMembers {
            if indexByKey.isEmpty {
                for (index, member) in members.enumerated() { indexByKey[member.key] = index }
            }
            indexByKey[pending.key] = members.count
        }
        members.append(member)
        return nil
    }

    func closed(end: Int) -> JSONNode {
        switch kind {
        case .array: JSONNode(value: .array(elements), range: start..<end)
        case .object: JSONNode(value: .object(members), range: start..<end)
        }
    }

    private func index(of key: String) -> Int? {
        indexByKey.isEmpty ? members.firstIndex { $0.key == key } : indexByKey[key]
    }
}
