import HabitStore

extension EvidenceLog {
    /// Lines that speak for a user but do not count.
    public struct Uncounted: Sendable, Hashable, Codable {
        /// The number of lines that the stores did not acknowledge.
        public internal(set) var notAnchored = 0
        /// The number of lines without the seal of an accepted key.
        public internal(set) var notSealed = 0
        /// The record number of the first of them; nil if there are none.
        public internal(set) var first: Int?
        /// The record number of the last of them; nil if there are none.
        public internal(set) var last: Int?

        /// All of them in one sentence; nil if there are none.
        public var sentence: String? {
            guard let first, let last else { return nil }
            let place = first == last ? "record \(first)" : "records \(first) to \(last)"
            var reasons: [String] = []
            if notAnchored > 0 { reasons.append("\(notAnchored) not recorded in the stores") }
            if notSealed > 0 { reasons.append("\(notSealed) without the seal of an evidence key that is given") }
            return "lines that do not count for the user, \(place): " + reasons.joined(separator: ", ")
        }
    }

    /// The lines of the file that speak for its user but do not count.
    func uncounted(_ trust: EvidenceTrust) throws -> Uncounted {
        var found = Uncounted()
        guard trust.vouched != nil || trust.seal != nil, let file = try open() else { return found }
        try file.forEachPart(0..<(try file.size())) { part, _ in
            guard case .line(let bytes) = part, let skimmed = EvidenceLine.skim(bytes),
                let doubt = trust.doubt(skimmed.head.sequence, bytes),
                let record = try? EvidenceLine.parse(bytes), record.event.speaksForTheUser
            else { return }
            switch doubt {
            case .notAnchored: found.notAnchored += 1
            case .notSealed: found.notSealed += 1
            }
            found.first = found.first ?? record.sequence
            found.last = record.sequence
        }
        return found
    }
}

extension EvidenceEvent {
    /// Whether it can open a gate.
    var speaksForTheUser: Bool {
        switch self {
        case .verified(_, _, let verdict, _, let differences, _, _):
            differences == 0 && (verdict == "match" || verdict == "ignored")
        case .selfCompared(_, _, let isClean), .rehearsed(_, let isClean, _): isClean
        case .shadowReads(_, let clean, let different, _, _, _, _, _, _): clean > 0 && different == 0
        default: false
        }
    }
}
