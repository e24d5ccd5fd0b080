import HabitStoreRollout

extension EvidenceEvent {
    /// The event and its details.
    var words: (what: String, details: String) {
        switch self {
        case .stageChanged(let from, let to, let epoch, let token, let reason, _, let because):
            (
                "\(from.rawValue) → \(to.rawValue)",
                "\(reason.rawValue), token \(token), epoch \(epoch)" + (because.map { ": \($0)" } ?? "")
            )
        case .admitted(let stage, let epoch): ("admitted: \(stage.rawValue)", "at epoch \(epoch)")
        case .backfilled(let token, let records): ("backfilled", "\(records.counted("record")), token \(token)")
        case .verified(let token, _, let verdict, let coverage, let differences, let anomalies, let ignored):
            (
                "verified: \(verdict)",
                "token \(token), \(Int(coverage * 100)) % covered, \(differences.counted("difference")), "
                    + "\(anomalies.counted("anomaly", plural: "anomalies")), "
                    + "\(ignored.counted("rule"))"
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
            let timedOut,
            _
        ):
            (
                "shadow reads at \(stage.rawValue)",
                "\(clean) clean, \(different) different, \(rerun) asked again, \(skewed) skewed, \(failed) failed, "
                    + "\(timedOut) timed out, \(shed) shed"
            )
        case .difference(let stage, let token, let message, _):
            ("DIFFERENCE at \(stage.rawValue)", "token \(token): \(message)")
        case .repaired(let token, let records): ("repaired", "\(records.counted("record")), token \(token)")
        case .migrated(let from, let to, let token): ("migrated", "schema version \(from) to \(to), token \(token)")
        case .rehearsed(let token, let isClean, let message):
            ("rehearsed: \(isClean ? "the way back works" : "FAILED")", message ?? "token \(token)")
        case .killed(let trigger): ("killed", trigger)
        case .rearmed(let person): ("re-armed", "by \(person)")
        case .refused(let stage, let reasons):
            ("refused: \(stage.rawValue)", reasons.map(Self.lack).joined(separator: "; "))
        case .putBack(let what): ("PUT BACK", "\(what); what was proven before does not count")
        case .adopted(let engine, let epoch, let person, let reason):
            ("ADOPTED: the \(engine.rawValue) store", "by \(person), epoch \(epoch): \(reason)")
        case .resynced(let engine, let epoch, let token, let person, let reason):
            ("RESYNCED: the \(engine.rawValue) store", "by \(person), token \(token), epoch \(epoch): \(reason)")
        case .retired(let engine, let epoch, let token, let person):
            ("RETIRED: the \(engine.rawValue) store", "by \(person), token \(token), epoch \(epoch)")
        case .restored(let engine, let epoch, let token, let person, let reason):
            ("RESTORED: the \(engine.rawValue) store", "by \(person), token \(token), epoch \(epoch): \(reason)")
        case .reset(let reason, let person, let sequence, _, let sizeBytes, let file):
            (
                "RESET",
                "by \(person): \(reason); "
                    + (file.map { "what was there, \(sizeBytes) bytes up to record \(sequence), is in \($0)" }
                        ?? "there was nothing before")
            )
        case .checkpoint(let state):
            ("checkpoint", "\(state.records.counted("record")) before it, at \(state.stage.rawValue)")
        case .unknown(let kind): (kind, "written by a newer version")
        }
    }

    /// The missing evidence, without the gate's advice.
    private static func lack(_ reason: GateReason) -> String {
        let sentence = reason.description
        return String(sentence[..<(sentence.firstRange(of: ": ")?.lowerBound ?? sentence.endIndex)])
    }
}
