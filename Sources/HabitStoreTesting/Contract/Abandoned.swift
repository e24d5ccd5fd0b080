extension StoreContract {
    /// What is thrown to abandon a transaction.
    struct Abandoned: Error {}
}
