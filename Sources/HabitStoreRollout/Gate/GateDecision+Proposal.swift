extension GateDecision {
    /// The decision with what the flags propose: nobody goes past that, whatever the evidence allows. Whom they want less
    /// of would be taken back by the next operation.
    func proposed(_ wanted: Stage?, from stage: Stage, to target: Stage) -> GateDecision {
        guard target > stage, wanted.map({ $0 < target }) ?? true else { return self }
        return GateDecision(reasons: reasons + [.notProposed(wanted: wanted)], cleanShadowReads: cleanShadowReads)
    }
}
