/// The paths of the files that an import writes next to a store.
struct ImportNotes {
    /// The path of the store, or a substitute for it.
    let base: String

    /// Values that the store cannot hold.
    var attachment: String { base + ".unmapped.jsonl" }
    /// The mapping from source records to store records.
    var ledger: String { base + ".ledger.jsonl" }
    /// A list of what is neither in the store nor in the attachment.
    var statement: String { base + ".import.json" }
}
