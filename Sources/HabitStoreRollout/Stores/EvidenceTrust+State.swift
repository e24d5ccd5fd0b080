extension EvidenceTrust {
    /// The trust that a store's state gives.
    init(_ state: RolloutState?, seal: EvidenceSeal?) {
        // An unreadable list acknowledges no lines.
        let vouched = state?.vouched.map { VouchedLines($0) ?? VouchedLines() }
        self.init(anchor: state?.evidence, vouched: vouched, seal: seal)
    }
}
