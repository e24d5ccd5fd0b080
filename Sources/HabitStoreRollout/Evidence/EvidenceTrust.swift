import HabitStore

/// Decides which lines of the evidence count that speak for a user. Lines that speak against a user always count: added lines can close a gate but
/// not open one.
struct EvidenceTrust: Sendable, Hashable {
    /// The stores' anchor; nil if they have none.
    var anchor: EvidenceHead?
    /// The lines that the stores acknowledged; nil if an earlier version wrote the stores' state last, so that every line counts.
    var vouched: AcknowledgedRanges?
    /// Checks the seals of lines; nil without keys, so that seals are not checked.
    var seal: EvidenceSeal?

    /// Why a line does not count.
    enum Doubt: String, Sendable, Hashable, Codable {
        /// The stores did not acknowledge it.
        case notAnchored
        /// It lacks a valid seal of an accepted key.
        case notSealed
    }

    init(anchor: EvidenceHead? = nil, vouched: AcknowledgedRanges? = nil, seal: EvidenceSeal? = nil) {
        self.anchor = anchor
        self.vouched = vouched
        self.seal = seal
    }

    /// Why a line does not count; nil if it does.
    ///
    /// - Parameter line: its bytes, newline included.
    func doubt(_ sequence: Int, _ line: UnsafeRawBufferPointer) -> Doubt? {
        // After the anchor, numbers are not tied to lines.
        if let vouched, !vouched.contains(sequence) || sequence > (anchor?.sequence ?? 0) { return .notAnchored }
        if let seal, !seal.holds(line) { return .notSealed }
        return nil
    }

    /// Adds lines that are known to belong to the log of the anchor.
    mutating func take(_ stretch: EvidenceLineRange) {
        vouched?.insert(stretch.first, stretch.last.sequence)
        if stretch.last.sequence > (anchor?.sequence ?? 0) { anchor = stretch.last }
    }

    /// Accepts all lines of earlier versions, and from then on only those that the stores acknowledge.
    func takingUpEarlierLines() -> Self {
        var taken = self
        if vouched == nil {
            taken.vouched = anchor.map { AcknowledgedRanges(through: $0.sequence) } ?? AcknowledgedRanges()
        }
        return taken
    }
}

/// The lines of the evidence that their writers reported to the stores, by record number.
///
/// Most users have one range. A process that dies between a line and its report to the stores leaves a gap, and so do lines that were added without
/// the stores.
struct AcknowledgedRanges: Sendable, Hashable {
    /// The most ranges that are kept; beyond that, the oldest no longer count.
    static let maximumRanges = 32
    /// No log has so many lines; adding to an end cannot overflow.
    private static let largest = Int.max / 2

    /// Ascending, and no range begins where another ends.
    private(set) var ranges: [ClosedRange<Int>] = []

    init() {}

    /// All lines up to `last`.
    init(through last: Int) { insert(1, last) }

    /// Reads the form of ``text``: `1-120,126-130`.
    ///
    /// - Returns: nil for anything else.
    init?(_ text: String) {
        guard !text.isEmpty else { return }
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
            guard ends.count == 2, let first = ends[0], let last = ends[1], first > (ranges.last?.upperBound ?? 0),
                last >= first, last <= Self.largest
            else { return nil }
            ranges.append(first...last)
        }
        guard ranges.count <= Self.maximumRanges else { return nil }
    }

    var text: String { ranges.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",") }

    func contains(_ number: Int) -> Bool { ranges.contains { $0.contains(number) } }

    mutating func insert(_ first: Int, _ last: Int) {
        guard first >= 1, last >= first, last <= Self.largest else { return }
        var joined = first...last
        var others: [ClosedRange<Int>] = []
        for range in ranges {
            if range.lowerBound <= joined.upperBound + 1, joined.lowerBound <= range.upperBound + 1 {
                joined = min(range.lowerBound, joined.lowerBound)...max(range.upperBound, joined.upperBound)
            } else {
                others.append(range)
            }
        }
        ranges = Array((others + [joined]).sorted { $0.lowerBound < $1.lowerBound }.suffix(Self.maximumRanges))
    }
}

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
