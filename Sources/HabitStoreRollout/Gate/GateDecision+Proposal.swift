extension GateDecision {
    /// The decision, limited by what the flags propose: no user moves past that, whatever the evidence allows. The next operation would take such a
    /// user back.
    func proposed(_ wanted: Stage?, from stage: Stage, to target: Stage) -> GateDecision {
        guard target > stage, wanted.map({ $0 < target }) ?? true else { return self }
        return GateDecision(reasons: reasons + [.notProposed(wanted: wanted)], cleanShadowReads: cleanShadowReads)
    }
}
