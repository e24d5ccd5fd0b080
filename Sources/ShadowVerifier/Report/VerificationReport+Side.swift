import HabitStore

extension VerificationReport {
    /// One of the two stores.
    public struct Side: Sendable, Codable {
        /// As it was named by the caller.
        public var name: String
        /// The store's information about itself.
        public var information: StoreInformation
        /// Records of each entity.
        public var counts: [String: Int]
    }
}
