/// Why a change is not a difference, in the words of the article *Verification*.
enum StatedReason: String, CaseIterable, Sendable {
    case ownIdentity = "What each store has for itself: its identity, role and epoch"
    case rolloutNotes = "what the rollout and a copy have noted in it"
    case floor = "from where on it has a history"
    case earlierLastToken = "a last token in the bookkeeping that the history has come past"
    case missingIndex = "whether an index is missing"
    case statistics = "what SQLite's `ANALYZE` has counted"
    case pages = "the page size and journal mode"
    case furtherDatabases = "further databases in an LMDB file that its schema does not name"
    case unknownDigests = "digests of entities that there are not"
    case unknownKeys = "keys of the bookkeeping that this version does not know"
    case declaredAside = "What schemas declare of indexes, defaults and what deletions preserve is told in a note"
    case otherLineage = "Stores of another lineage are compared without their histories"
    case firstVersions =
        "stores of the first versions without the digests, the schema and the form of texts that they do not state"
    case otherSpelling = "blanks and escapes in a JSON text"
    case pruned =
        "A history that was pruned, and one whose rows somebody has deleted while raising the floor, cannot be told apart"
    case otherForms = "unless SQLite's store is of a version that did not normalize, whose text is compared in NFC"
}
