extension EvidenceLog {
    /// Reads all of the evidence, archives included, and checks every line.
    ///
    /// - Parameter anchor: the stores' anchor.
    /// - Throws: system errors. Damage does not throw: the result reports it.
    public func verify(anchor: EvidenceHead? = nil) throws -> EvidenceVerification {
        var found = EvidenceVerification()
        guard let file = try open() else {
            found.isCutOff = anchor != nil && anchor != .start
            return found
        }
        var live = EvidenceSummary(EvidenceTrust(anchor: anchor), start: 0, identity: nil)
        try live.read(file)
        found.take(live, Self.fileName)
        var containsAnchor = live.containsAnchor
        if let before = live.before {
            let missing = try archives(before).forEach(anchor: anchor) { archive in
                found.take(archive.summary, archive.name)
                if found.damage == nil, !archive.isFollowed {
                    found.damage = .init(
                        file: archive.name,
                        line: archive.summary.linesRead,
                        reason: "it does not end with what the next file follows"
                    )
                }
                containsAnchor = containsAnchor || archive.summary.containsAnchor
                return true
            }
            found.missingUpTo = missing?.sequence
        }
        // Of a missing archive, only what a checkpoint vouches for is known.
        found.isCutOff = !containsAnchor && !(found.missingUpTo != nil && live.vouchedAnchor == anchor)
        return found
    }
}

extension EvidenceVerification {
    fileprivate mutating func take(_ summary: EvidenceSummary, _ file: String) {
        files += 1
        records += summary.recordsRead
        if damage == nil, let found = summary.damage {
            damage = Damage(file: file, line: found.line, reason: found.reason)
        }
    }
}
