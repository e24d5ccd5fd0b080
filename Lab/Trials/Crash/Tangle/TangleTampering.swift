/// Tampering with a user's files after all processes have ended.
enum TangleTampering: String, CaseIterable {
    case olderSQLite, olderLMDB, olderControl, olderEvidence
    case missingSQLite, missingLMDB, missingControl, missingEvidence
    /// The whole folder is restored from an earlier copy.
    case olderFolder
}
