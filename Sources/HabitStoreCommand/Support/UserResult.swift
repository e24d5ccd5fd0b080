/// What came of the work for one user.
struct UserResult<R: Sendable>: Sendable {
    let user: String
    let result: Result<R, any Error>
}
