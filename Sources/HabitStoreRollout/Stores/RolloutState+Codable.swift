import HabitStore

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

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        let names = try values.decodeIfPresent([EngineName].self, forKey: .engines)
        let engines: EnginePair?
        if let names {
            engines = names.count == 2 && names[0] != names[1] ? EnginePair(old: names[0], new: names[1]) : nil
        } else {
            engines = EnginePair(implying: try values.decode(EngineName.self, forKey: .old))
        }
        guard let engines else {
            throw DecodingError.dataCorruptedError(forKey: Key.engines, in: values, debugDescription: "no two engines")
        }
        self.init(
            stage: try values.decode(Stage.self, forKey: .stage),
            engines: engines,
            isKilled: try values.decode(Bool.self, forKey: .isKilled),
            movingTo: try values.decodeIfPresent(Stage.self, forKey: .movingTo)
        )
        fled = try values.decodeIfPresent(EngineName.self, forKey: .fled)
        evidence = try values.decodeIfPresent(EvidenceHead.self, forKey: .evidence)
        machine = try values.decodeIfPresent(String.self, forKey: .machine)
        owner = try values.decodeIfPresent(String.self, forKey: .owner)
        pairedBy = try values.decodeIfPresent(Placement.self, forKey: .pairedBy)
        placedBy = try values.decodeIfPresent(Placement.self, forKey: .placedBy)
        turns = try values.decodeIfPresent(String.self, forKey: .turns)
        vouched = try values.decodeIfPresent(String.self, forKey: .vouched)
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        if engines.isImplied {
            try values.encode(engines.old, forKey: .old)
        } else {
            try values.encode(engines.names, forKey: .engines)
        }
        try values.encode(stage, forKey: .stage)
        try values.encode(isKilled, forKey: .isKilled)
        try values.encodeIfPresent(movingTo, forKey: .movingTo)
        try values.encodeIfPresent(fled, forKey: .fled)
        try values.encodeIfPresent(evidence, forKey: .evidence)
        try values.encodeIfPresent(machine, forKey: .machine)
        try values.encodeIfPresent(owner, forKey: .owner)
        try values.encodeIfPresent(pairedBy, forKey: .pairedBy)
        try values.encodeIfPresent(placedBy, forKey: .placedBy)
        try values.encodeIfPresent(turns, forKey: .turns)
        try values.encodeIfPresent(vouched, forKey: .vouched)
    }
}
