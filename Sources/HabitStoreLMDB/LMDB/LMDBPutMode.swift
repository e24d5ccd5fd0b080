/// How `put` treats existing or ascending keys.
enum LMDBPutMode {
    /// Replaces the existing value.
    case upsert
    /// Keeps the existing value and returns false.
    case noOverwrite
    /// Requires a key greater than all existing ones. Faster, and fills pages completely; a key out of order is rejected.
    case append
}
