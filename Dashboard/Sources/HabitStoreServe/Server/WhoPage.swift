/// The form that asks which user a name on the page stands for.
struct WhoForm: Decodable, Sendable {
    let name: String
    let token: String
}

/// The page that says which user a name on another page stands for.
struct WhoPage {
    let title = "HabitStore: whose name is it?"
    let fleetName: String
    let isOn: Bool
    let name: String
    let problem: String?
    let user: String?
    /// The command that says the same.
    let command: String
}
