/// The fields of the form that asks for the user with a name on the page.
struct WhoForm: Decodable, Sendable {
    let name: String
    let token: String
}

/// The contents of the page that says which user has a name.
struct WhoPage {
    let title = "HabitStore: whose name is it?"
    let fleetName: String
    let isOn: Bool
    let name: String
    let problem: String?
    let user: String?
    /// The equivalent command.
    let command: String
}
