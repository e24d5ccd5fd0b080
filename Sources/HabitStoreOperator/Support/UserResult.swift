/// What came of the work for one user.
struct UserResult<R: Sendable>: Sendable {
    let user: String
    let result: Result<R, any Error>
}

extension UserResult<Bool> {
    /// The user, what came of it under a name, and what went wrong.
    func json(_ name: String) -> JSON {
        var message: String?
        if case .failure(let error) = result { message = ErrorReport.message(of: error) }
        return .object([
            "user": .string(user),
            name: .bool((try? result.get()) ?? false),
            "error": .optional(message),
        ])
    }
}

extension Array {
    /// The users for whom it went wrong, and how.
    func failures<R>() -> [(user: String, error: any Error)] where Element == UserResult<R> {
        compactMap { result in
            guard case .failure(let error) = result.result else { return nil }
            return (result.user, error)
        }
    }
}
