/// Decides which lines of the evidence count that speak for a user. Lines that speak against a user always count: added lines can close a gate but
/// not open one.
struct EvidenceTrust: Sendable, Hashable {
    /// The stores' anchor; nil if they have none.
    var anchor: EvidenceHead?
    /// The lines that the stores acknowledged; nil if an earlier version wrote the stores' state last, so that every line counts.
    var vouched: VouchedLines?
    /// Checks the seals of lines; nil without keys, so that seals are not checked.
    var seal: EvidenceSeal?

    /// Why a line does not count.
    enum Doubt: String, Sendable, Hashable, Codable {
        /// The stores did not acknowledge it.
        case notAnchored
        /// It lacks a valid seal of an accepted key.
        case notSealed
    }

    init(anchor: EvidenceHead? = nil, vouched: VouchedLines? = nil, seal: EvidenceSeal? = nil) {
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
    mutating func take(_ stretch: EvidenceStretch) {
        vouched?.insert(stretch.first, stretch.last.sequence)
        if stretch.last.sequence > (anchor?.sequence ?? 0) { anchor = stretch.last }
    }

    /// Accepts all lines of earlier versions, and from then on only those that the stores acknowledge.
    func takingUpEarlierLines() -> Self {
        var taken = self
        if vouched == nil { taken.vouched = anchor.map { VouchedLines(through: $0.sequence) } ?? VouchedLines() }
        return taken
    }
}
