/// What somebody has filled in.
struct ActionForm: Decodable, Sendable {
    let by: String
    let because: String
    let typed: String
    let token: String
}
