/// What `put` does about keys that are there, or come in order.
enum LMDBPutMode {
    /// Replace what is there.
    case upsert
    /// Leave what is there and say so.
    case noOverwrite
    /// The key is greater than every key there is. Faster, and fills pages to the brim; a key out of order is refused.
    case append
}
