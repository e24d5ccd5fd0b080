/// Why a change is not a difference, in the words of the article *Verification*.
enum DocumentedReason: String, CaseIterable, Sendable {
    case ownIdentity = "a store's own state: its identity, role and epoch"
    case rolloutNotes = "notes of the rollout and of copies"
    case floor = "where its history starts"
    case earlierLastToken = "a last token in the bookkeeping that is older than the history"
    case missingIndex = "missing indexes"
    case statistics = "the statistics of SQLite's `ANALYZE`"
    case pages = "the page size and journal mode"
    case furtherDatabases = "databases in an LMDB file that the schema does not name"
    case unknownDigests = "digests of unknown entities"
    case unknownKeys = "bookkeeping keys that this version does not know"
    case declaredAside = "Different indexes, defaults and attributes preserved on deletion are reported in a note"
    case otherLineage = "Stores of different lineages are compared without their histories"
    case firstVersions =
        "stores of the first versions without the digests, the schema and the Unicode form of text, which they do not record"
    case otherSpelling = "blanks and escapes in a JSON text"
    case pruned =
        "A pruned history cannot be distinguished from one whose rows were deleted while the floor was raised"
    case otherForms = "unless the SQLite store is of a version that did not normalize; its text is compared in NFC"
}
