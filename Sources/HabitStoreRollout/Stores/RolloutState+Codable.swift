import HabitStore
import JSONText

extension EnginePair {
    /// The engines that existed when a state named only the old one.
    private static let first: [EngineName] = ["sqlite", "lmdb"]

    /// The pair of a state that names only the old engine; nil if it is not one of the first two.
    init?(implying old: EngineName) {
        guard let new = Self.first.first(where: { $0 != old }), Self.first.contains(old) else { return nil }
        self.init(old: old, new: new)
    }

    /// Whether it is enough to name the old engine.
    var isImplied: Bool { EnginePair(implying: old) == self }
}

/// A state of the first two engines keeps its original form, so that an earlier version of the app can read it. A state of other engines has no
/// `old`, so that an earlier version refuses it.
extension RolloutState: Codable {
    private enum Key: String, CodingKey {
        case engines, evidence, fled, isKilled, machine, movingTo, old, owner, pairedBy, placedBy, stage, turns, vouched
    }

    init(from decoder: any Decoder) throws { try self.init(try JSON(from: decoder)) }

    /// - Throws: `DecodingError` for anything but a state.
    init(_ json: JSON) throws {
        let members = json.members ?? [:]
        func damage(_ key: Key) -> DecodingError {
            .dataCorrupted(.init(codingPath: [key], debugDescription: "not what a state has here"))
        }
        func member<T>(_ key: Key, _ value: (JSON) -> T?) throws -> T? {
            guard let member = members[key.rawValue], member != .null else { return nil }
            guard let value = value(member) else { throw damage(key) }
            return value
        }
        func name<T: RawRepresentable<String>>(_ key: Key) throws -> T? {
            try member(key) { $0.text.flatMap(T.init(rawValue:)) }
        }
        let pair = try member(.engines) { json -> EnginePair? in
            let names = (json.elements ?? []).compactMap { $0.text.flatMap(EngineName.init(rawValue:)) }
            guard names.count == 2, json.elements?.count == 2, names[0] != names[1] else { return nil }
            return EnginePair(old: names[0], new: names[1])
        }
        let old: EngineName? = pair == nil ? try name(.old) : nil
        guard let engines = pair ?? old.flatMap(EnginePair.init(implying:)) else { throw damage(.engines) }
        guard let stage: Stage = try name(.stage) else { throw damage(.stage) }
        guard let isKilled = try member(.isKilled, \.flag) else { throw damage(.isKilled) }
        self.init(stage: stage, engines: engines, isKilled: isKilled, movingTo: try name(.movingTo))
        fled = try name(.fled)
        evidence = try member(.evidence) { json in
            guard let hash = json.members?["hash"]?.text, let sequence = json.members?["sequence"]?.integer else {
                return nil
            }
            return EvidenceHead(sequence: sequence, hash: hash)
        }
        machine = try member(.machine, \.text)
        owner = try member(.owner, \.text)
        pairedBy = try name(.pairedBy)
        placedBy = try name(.placedBy)
        turns = try member(.turns, \.text)
        vouched = try member(.vouched, \.text)
    }

    func encode(to encoder: any Encoder) throws {
        let members: JSONObject = [
            "engines": engines.isImplied ? nil : engines.names, "old": engines.isImplied ? engines.old : nil,
            "evidence": evidence, "fled": fled, "isKilled": isKilled, "machine": machine, "movingTo": movingTo,
            "owner": owner, "pairedBy": pairedBy, "placedBy": placedBy, "stage": stage, "turns": turns,
            "vouched": vouched,
        ]
        try members.omittingNil.encode(to: encoder)
    }
}
