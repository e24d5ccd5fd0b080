import HabitStore

extension VerificationReport {
    /// The error that ended a comparison.
    public struct Failure: Sendable, Codable, Hashable {
        /// The stable name of ``HabitStoreError/Code``.
        public var code: String
        /// One sentence, without the user's values.
        public var message: String

        init(_ error: HabitStoreError) {
            code = error.code.rawValue
            message = error.description
        }
    }
}
