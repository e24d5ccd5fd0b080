/// By what lines of the evidence are believed that speak for a user. Lines that speak against a user always count: who can
/// add lines can close a gate, and not open one.
struct EvidenceTrust: Sendable, Hashable {
    /// What the stores remember of the evidence; nil when they remember nothing.
    var anchor: EvidenceHead?
    /// The lines that the stores were told of; nil where an earlier version told them last, and every line counts.
    var vouched: VouchedLines?
    /// What lines are sealed with; nil where no key is given, and seals are not looked at.
    var seal: EvidenceSeal?

    /// What does not count of a line.
    enum Doubt: String, Sendable, Hashable, Codable {
        /// The stores were not told of it.
        case notAnchored
        /// It has no seal of a key that is accepted, or a wrong one.
        case notSealed
    }

    init(anchor: EvidenceHead? = nil, vouched: VouchedLines? = nil, seal: EvidenceSeal? = nil) {
        self.anchor = anchor
        self.vouched = vouched
        self.seal = seal
    }

    /// Why a line does not count; nil for one that does.
    ///
    /// - Parameter line: its bytes, newline included.
    func doubt(_ sequence: Int, _ line: UnsafeRawBufferPointer) -> Doubt? {
        // Behind the anchor nothing ties the numbers to lines.
        if let vouched, !vouched.contains(sequence) || sequence > (anchor?.sequence ?? 0) { return .notAnchored }
        if let seal, !seal.holds(line) { return .notSealed }
        return nil
    }

    /// Takes lines that are known to belong to the log which the anchor is of.
    mutating func take(_ stretch: EvidenceStretch) {
        vouched?.insert(stretch.first, stretch.last.sequence)
        if stretch.last.sequence > (anchor?.sequence ?? 0) { anchor = stretch.last }
    }

    /// Lines that an earlier version has written are taken up, all of them, and from then on only those that the stores are
    /// told of.
    func takingUpEarlierLines() -> Self {
        var taken = self
        if vouched == nil { taken.vouched = anchor.map { VouchedLines(through: $0.sequence) } ?? VouchedLines() }
        return taken
    }
}
