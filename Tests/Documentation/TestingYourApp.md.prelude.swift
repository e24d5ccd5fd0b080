extension StoreUnderTest {
    static let mine = inMemory
}
