extension EvidenceTrust {
    /// What a store remembers.
    init(_ state: RolloutState?, seal: EvidenceSeal?) {
        // A list that cannot be read vouches for nothing.
        let vouched = state?.vouched.map { VouchedLines($0) ?? VouchedLines() }
        self.init(anchor: state?.evidence, vouched: vouched, seal: seal)
    }
}
