import Hashing

/// What tells the flags of two versions of a file apart, by key: the digest of a flag's definition, of the evaluators that
/// it refers to, and of the file's metadata, which is a part of each outcome. White space and the order of members count
/// for nothing.
enum FlagFingerprints {
    static func make(
        of flags: [(key: String, node: JSONNode)],
        metadata: [String: FlagValue],
        evaluators: [String: JSONNode]
    )
        -> [String: SHA256.Digest]
    {
        let common = DeterministicCBOR.encode(.object(metadata))
        var fingerprints: [String: SHA256.Digest] = [:]
        for (key, node) in flags {
            var hash = SHA256()
            hash.update(data: common)
            hash.update(data: DeterministicCBOR.encode(node.flagValue))
            var names: Set<String> = []
            collectReferences(node, &names)
            for name in names.sorted() {
                guard let evaluator = evaluators[name] else { continue }
                hash.update(data: DeterministicCBOR.encode(.list([.string(name), evaluator.flagValue])))
            }
            fingerprints[key] = hash.finalize()
        }
        return fingerprints
    }

    /// The keys whose flags are new, gone or other ones.
    static func changes(from old: [String: SHA256.Digest], to new: [String: SHA256.Digest]) -> Set<String> {
        Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }
    }

    private static func collectReferences(_ node: JSONNode, _ names: inout Set<String>) {
        switch node.value {
        case .null, .bool, .int, .double, .string: return
        case .array(let elements):
            for element in elements { collectReferences(element, &names) }
        case .object(let members):
            for member in members {
                if member.key == "$ref", case .string(let name) = member.value.value { names.insert(name) }
                collectReferences(member.value, &names)
            }
        }
    }
}
