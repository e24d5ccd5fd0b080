/// The result of the work for one user.
struct UserResult<R: Sendable>: Sendable {
    let user: String
    let result: Result<R, any Error>
}

extension UserResult<Bool> {
    /// The user, the result under a name, and the error, as JSON.
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
    /// The users for whom the work failed, and the errors.
    func failures<R>() -> [(user: String, error: any Error)] where Element == UserResult<R> {
        compactMap { result in
            guard case .failure(let error) = result.result else { return nil }
            return (result.user, error)
        }
    }
}
