extension VerificationReport {
    /// One level of a comparison.
    public struct Level: Sendable, Codable {
        /// `store checks`, `counts`, `contents`, `kept digests`, `own reading`, `relationships`, `history`, `queries`.
        public var name: String
        /// How many things were compared.
        public var compared: Int
        /// The unit of the count: `records`, `links`, `queries`.
        public var unit: String
        /// How many differences it found, those that are ignored among them.
        public var differences: Int
        /// How long it took.
        public var seconds: Double
    }
}
