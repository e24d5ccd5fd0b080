/// The files that an import leaves beside a store.
struct ImportNotes {
    /// The path of the store, or what stands for it.
    let base: String

    /// What has no place in the store.
    var attachment: String { base + ".unmapped.jsonl" }
    /// Which record of the source is which of the store.
    var ledger: String { base + ".ledger.jsonl" }
    /// What of the source is neither in the store nor in the attachment.
    var statement: String { base + ".import.json" }
}
