/// What somebody has filled in to see the page.
struct LoginForm: Decodable, Sendable {
    let token: String
}
