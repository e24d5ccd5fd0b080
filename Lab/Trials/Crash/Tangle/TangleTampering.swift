/// What becomes of a user's files when all processes have ended.
enum TangleTampering: String, CaseIterable {
    case olderSQLite, olderLMDB, olderControl, olderEvidence
    case missingSQLite, missingLMDB, missingControl, missingEvidence
    /// The whole folder is the one that was copied before.
    case olderFolder
}
