import HabitStoreRollout

extension EvidenceEvent {
    /// What happened, and the rest of it.
    var words: (what: String, details: String) {
        switch self {
        case .stageChanged(let from, let to, let epoch, let token, let reason):
            ("\(from.rawValue) → \(to.rawValue)", "\(reason.rawValue), token \(token), epoch \(epoch)")
        case .backfilled(let token, let records): ("backfilled", "\(records) records, token \(token)")
        case .verified(let token, _, let verdict, let coverage, let differences, let anomalies, let ignored):
            (
                "verified: \(verdict)",
                "token \(token), \(Int(coverage * 100)) % covered, \(differences) differences, \(anomalies) anomalies, "
                    + "\(ignored) rules"
            )
        case .selfCompared(let side, let token, let isClean):
            ("compared with itself: \(isClean ? "clean" : "NOT CLEAN")", "the \(side.rawValue) store, token \(token)")
        case .shadowReads(
            let stage,
            let clean,
            let different,
            let skewed,
            let failed,
            let shed,
            let rerun,
            let timedOut
        ):
            (
                "shadow reads at \(stage.rawValue)",
                "\(clean) clean, \(different) different, \(rerun) asked again, \(skewed) skewed, \(failed) failed, "
                    + "\(timedOut) timed out, \(shed) shed"
            )
        case .difference(let stage, let token, let message):
            ("DIFFERENCE at \(stage.rawValue)", "token \(token): \(message)")
        case .repaired(let token, let records): ("repaired", "\(records) records, token \(token)")
        case .migrated(let from, let to, let token): ("migrated", "schema version \(from) to \(to), token \(token)")
        case .rehearsed(let token, let isClean, let message):
            ("rehearsed: \(isClean ? "the way back works" : "FAILED")", message ?? "token \(token)")
        case .killed(let trigger): ("killed", trigger)
        case .rearmed(let person): ("re-armed", "by \(person)")
        case .refused(let stage, let reasons):
            ("refused: \(stage.rawValue)", reasons.map(Self.lack).joined(separator: "; "))
        case .unknown(let kind): (kind, "written by a newer version")
        }
    }

    /// What was missing, without what helps against it: that was said to whoever asked.
    private static func lack(_ reason: GateReason) -> String {
        let sentence = reason.description
        return String(sentence[..<(sentence.firstRange(of: ": ")?.lowerBound ?? sentence.endIndex)])
    }
}
