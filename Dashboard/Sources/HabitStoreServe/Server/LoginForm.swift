/// The fields of the login form.
struct LoginForm: Decodable, Sendable {
    let token: String
}
