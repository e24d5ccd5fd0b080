/// The fields of a form for stopping or resuming a fleet.
struct ActionForm: Decodable, Sendable {
    let by: String
    let because: String
    let typed: String
    let token: String
}
