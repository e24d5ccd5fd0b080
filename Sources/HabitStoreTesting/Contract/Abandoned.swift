extension StoreContract {
    /// Thrown to abandon a transaction.
    struct Abandoned: Error {}
}
